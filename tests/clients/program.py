"""A client program under the runner: a line asks, a line answers; notices and error events come in between."""
import json
import queue
import subprocess
import threading
import time

READY_SECONDS = 60
EXIT_SECONDS = 15


class Wrong(Exception):
    """The client, or the server under it, did not do what the matrix promises."""


class Program:
    """Lines that it prints: ready, reply TEXT, error TEXT (to the caller), event TEXT (an error nobody asked for), notice JSON."""

    def __init__(self, command, environment, folder, log, seconds):
        """`seconds` is the time for each answer and notice."""
        self.seconds = seconds
        self.process = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=log, text=True, errors="replace", bufsize=1)
        self.answers, self.notices, self.events = queue.Queue(), queue.Queue(), []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            kind, _, text = line.strip().partition(" ")
            if kind == "notice":
                self.notices.put(text)
            elif kind == "event":
                self.events.append(text)
            else:
                self.answers.put((kind, text))
        self.answers.put(("gone", f"exit status {self.process.wait()}"))

    def next_answer(self, seconds, what):
        try:
            return self.answers.get(timeout=seconds)
        except queue.Empty:
            raise Wrong(f"{what}: no answer within {seconds} s") from None

    def wait_ready(self):
        kind, text = self.next_answer(READY_SECONDS, "connect")
        if kind != "ready" or self.events:
            raise Wrong(f"connect: {kind} {text} {'; '.join(self.events)}")

    def send(self, line):
        """False: the program has ended."""
        try:
            self.process.stdin.write(line + "\n")
        except OSError:
            return False
        return True

    def answer(self, line):
        """The kind and text of the answer to it: reply, error or gone."""
        return self.next_answer(self.seconds, line)

    def ask(self, line):
        return self.answer(line) if self.send(line) else ("gone", "the program has ended")

    def expect(self, line, reply):
        answer = self.ask(line)
        if answer != ("reply", str(reply)):
            raise Wrong(f"{line}: {' '.join(answer)[:200]}; expected {str(reply)[:200]}")

    def ask_until_answered(self, line):
        """As a caller who tries again: the first reply that is no error."""
        deadline, answer = time.monotonic() + self.seconds, ("error", "")
        while time.monotonic() < deadline:
            answer = self.ask(line)
            if answer[0] != "error":
                break
            threading.Event().wait(0.1)  # callers pause between tries
        if answer[0] != "reply":
            raise Wrong(f"{line}: {' '.join(answer)}")
        return answer[1]

    def expect_notice(self, item):
        """Waits for a notice about this item; others may come before it."""
        deadline, seen = time.monotonic() + self.seconds, []
        while True:
            try:
                seen.append(self.notices.get(timeout=max(0, deadline - time.monotonic())))
            except queue.Empty:
                raise Wrong(f"no notice about {item} within {self.seconds} s; {seen}") from None
            if json.loads(seen[-1])["item"] == item:
                return

    def expect_exit(self):
        try:
            status = self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise Wrong("it does not end after close") from None
        if status != 0:
            raise Wrong(f"exit status {status}")

    def kill(self):
        self.process.kill()
        self.process.wait()
