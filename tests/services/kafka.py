"""A private Apache Kafka (KRaft) in a folder of its own, for tests, measurements and the demo: one node or three, each broker
and controller, on free ports of 127.0.0.1. Java and Maven are Debian's; the jars of kafka_pom.xml are fetched once into
${XDG_CACHE_HOME:-~/.cache}/holdfast/kafka.

    with Kafka() as broker:                              # Kafka(nodes=3)
        subprocess.run([relay, "--sink", f"kafka={broker.servers()}"])
        broker.nodes[0].kill()                           # also stop, pause, resume; start again on the same folder

Other ways to it, each a listener of its own:
    Kafka(through=[PORT])       `proxied_port` of a node is for a proxy on PORT, the address that clients are told there
    Kafka(users={"relay": "S"}) `secure_servers()` are TLS (`authority` is the CA's file) and SASL PLAIN; set_users changes who may.
                                (SCRAM of Debian's librdkafka 2.0.2 repeats the nonce, which brokers of 4.x refuse.)
"""
import fcntl
import hashlib
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

START_SECONDS, STOP_SECONDS, FETCH_SECONDS = 90, 60, 300
POM = pathlib.Path(__file__).with_name("kafka_pom.xml")
COPY_DEPENDENCIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
CLUSTER = "aG9sZGZhc3QtdGVzdHMtMQ"  # a fixed one: the format refuses random ones that begin with a dash
PASSWORD = "holdfast"  # of the key store, which is made anew each time
ONE_NODE = ("offsets.topic.replication.factor=1", "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
            "share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1")
API_VERSIONS = 18


class Missing(Exception):
    """Java or Maven is not installed, or the jars could not be fetched."""


def cached_jars():
    """The folder where the jars are kept; it is there once they were fetched."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "holdfast" / "kafka"
    return cache / hashlib.sha256(POM.read_bytes()).hexdigest()[:16]


def jars():
    """The folder of the jars, fetched when they are not there yet."""
    for tool, package in (("java", "openjdk-17-jre-headless"), ("mvn", "maven")):
        if shutil.which(tool) is None:
            raise Missing(f"{tool} is not installed; Debian's package is {package}")
    lib = cached_jars()
    lib.parent.mkdir(parents=True, exist_ok=True)
    with open(lib.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not lib.is_dir():
            fetch(lib)
    return lib


def fetch(lib):
    with tempfile.TemporaryDirectory(dir=lib.parent) as folder:
        words = ["mvn", "-q", "-B", "-f", str(POM), COPY_DEPENDENCIES, f"-DoutputDirectory={folder}/lib", "-DincludeScope=runtime"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, cwd=folder, timeout=FETCH_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Missing(f"Maven did not fetch Kafka's jars within {FETCH_SECONDS} s") from error
        if done.returncode != 0:
            raise Missing(f"Maven did not fetch Kafka's jars: {(done.stdout + done.stderr).strip()[-500:]}")
        os.rename(f"{folder}/lib", lib)


def free_ports(count):
    """Ports that are all different, since they are held until all are found."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [sock.getsockname()[1] for sock in sockets]
    for sock in sockets:
        sock.close()
    return ports


def answers(port):
    """Whether a broker answers requests there: it does once it is part of the cluster."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as sock:
            body = struct.pack(">hhih", API_VERSIONS, 0, 1, -1)
            sock.sendall(struct.pack(">i", len(body)) + body)
            return len(sock.recv(8)) == 8
    except OSError:
        return False


class Node:
    """A broker that is its own controller. `id` counts from 1."""

    def __init__(self, kafka, number, ports):
        self.kafka, self.id, self.process = kafka, number, None
        self.port, self.controller_port, self.proxied_port, self.secure_port = ports
        self.folder = os.path.join(kafka.folder, f"node{number}")
        self.config = os.path.join(self.folder, "server.properties")

    def listeners(self):
        """Name, port, the port that clients are told, protocol."""
        found = [("PLAINTEXT", self.port, self.port, "PLAINTEXT")]
        if self.kafka.through:
            found.append(("PROXIED", self.proxied_port, self.kafka.through[self.id - 1], "PLAINTEXT"))
        if self.kafka.authority:
            found.append(("SECURE", self.secure_port, self.secure_port, "SASL_SSL"))
        return found

    def write_config(self):
        os.makedirs(self.folder, exist_ok=True)
        listeners, voters = self.listeners(), self.kafka.nodes
        lines = ["process.roles=broker,controller", f"node.id={self.id}", "controller.listener.names=CONTROLLER",
                 "controller.quorum.voters=" + ",".join(f"{node.id}@127.0.0.1:{node.controller_port}" for node in voters),
                 "listeners=" + ",".join([*(f"{name}://127.0.0.1:{port}" for name, port, _, _ in listeners),
                                          f"CONTROLLER://127.0.0.1:{self.controller_port}"]),
                 "advertised.listeners=" + ",".join(f"{name}://127.0.0.1:{told}" for name, _, told, _ in listeners),
                 "listener.security.protocol.map=" + ",".join([*(f"{name}:{how}" for name, _, _, how in listeners), "CONTROLLER:PLAINTEXT"]),
                 f"log.dirs={self.folder}/data", "auto.create.topics.enable=false", "group.initial.rebalance.delay.ms=0",
                 "offsets.topic.num.partitions=1", "transaction.state.log.num.partitions=1", *(ONE_NODE if len(voters) == 1 else ())]
        if self.kafka.authority:
            lines += ["sasl.enabled.mechanisms=PLAIN", "ssl.keystore.type=PKCS12", f"ssl.keystore.location={self.kafka.folder}/keys.p12",
                      f"ssl.keystore.password={PASSWORD}", self.kafka.who_may()]
        pathlib.Path(self.config).write_text("\n".join([*lines, *self.kafka.settings]) + "\n")

    def start(self, wait=True):
        """Returns when it answers, unless not to be waited for. Its process id is then in the file `pid` of its folder."""
        with open(os.path.join(self.folder, "output"), "ab") as output:
            self.process = subprocess.Popen([*self.kafka.java, "-Xms128m", "-Xmx384m", "kafka.Kafka", self.config], stdout=output, stderr=output,
                                            stdin=subprocess.DEVNULL, cwd=self.folder, start_new_session=self.kafka.stays)
        pathlib.Path(self.folder, "pid").write_text(f"{self.process.pid}\n")
        if wait:
            self.wait_ready()

    def wait_ready(self):
        deadline = time.monotonic() + START_SECONDS
        while not answers(self.port):
            if time.monotonic() > deadline or self.ended_within(0.1):
                raise RuntimeError(f"node {self.id} does not start: " + pathlib.Path(self.folder, "output").read_text()[-1500:])

    def ended_within(self, seconds):
        try:
            self.process.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def end(self, how):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.send_signal(signal.SIGCONT)
        if not self.ended_within(STOP_SECONDS):
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"node {self.id} does not stop within {STOP_SECONDS} s")
        self.process = None

    def stop(self):
        """As an operator does it: leaders move away first."""
        self.end(signal.SIGTERM)

    def kill(self):
        self.end(signal.SIGKILL)

    def pause(self):
        """Connections stay open, nobody answers. Returns when all its threads stand still."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def resident_bytes(self):
        pages = int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


class Kafka:
    """Started when made. `settings` are lines of server.properties, for all nodes; with a `folder`, data is there, and a signal to
    the group of processes that started it does not end it."""

    def __init__(self, nodes=1, settings=(), through=(), users=None, folder=None):
        self.settings, self.through, self.users = list(settings), list(through), dict(users or {})
        self.java = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{jars()}/*"]
        self.stays = folder is not None
        self.folder, self.nodes = folder or tempfile.mkdtemp(prefix="holdfast-kafka-"), []
        self.authority = os.path.join(self.folder, "authority.pem") if self.users else None
        ports = free_ports(4 * nodes)
        self.nodes += [Node(self, number, ports[4 * number - 4:4 * number]) for number in range(1, nodes + 1)]
        try:
            if self.users:
                self.make_keys()
            for node in self.nodes:
                node.write_config()
            self.format()
            self.start()
        except BaseException:
            self.remove()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def servers(self, through=False):
        """What clients take as bootstrap.servers; `through`: by way of the proxies."""
        return ",".join(f"127.0.0.1:{port}" for port in (self.through if through else [node.port for node in self.nodes]))

    def secure_servers(self):
        return ",".join(f"127.0.0.1:{node.secure_port}" for node in self.nodes)

    def start(self):
        """All that do not run."""
        waking = [node for node in self.nodes if node.process is None]
        for node in waking:
            node.start(wait=False)
        for node in waking:
            node.wait_ready()

    def stop(self):
        """Of several none could stop as an operator does it: the last ones would wait for a quorum that is gone."""
        for node in self.nodes:
            node.end(signal.SIGTERM if len(self.nodes) == 1 else signal.SIGKILL)

    def remove(self):
        for node in self.nodes:
            node.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def tool(self, *words):
        """A program of the jars, with the standard output that it gave."""
        done = subprocess.run([*self.java, *words], capture_output=True, text=True, cwd=self.folder, timeout=START_SECONDS)
        if done.returncode != 0:
            raise RuntimeError(f"{words[0]}: {(done.stdout + done.stderr).strip()[-1500:]}")
        return done.stdout

    def format(self):
        for node in self.nodes:
            self.tool("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", node.config)

    def who_may(self):
        users = " ".join(f'user_{name}="{secret}"' for name, secret in self.users.items())
        return f"listener.name.secure.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required {users};"

    def set_users(self, users):
        """Restarts the nodes, one after the other, with these and no others."""
        self.users = dict(users)
        for node in self.nodes:
            node.stop()
            node.write_config()
            node.start()

    def make_keys(self):
        """A CA that signs itself, and the brokers' key with a certificate by it."""
        def openssl(*words):
            subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.folder)
        new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        openssl("req", "-x509", *new_key, "-keyout", "authority.key", "-out", "authority.pem", "-days", "2", "-subj", "/CN=holdfast tests")
        openssl("req", "-x509", *new_key, "-keyout", "broker.key", "-out", "broker.pem", "-days", "2", "-subj", "/CN=127.0.0.1",
                "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE", "-CA", "authority.pem", "-CAkey", "authority.key")
        openssl("pkcs12", "-export", "-in", "broker.pem", "-inkey", "broker.key", "-out", "keys.p12", "-passout", f"pass:{PASSWORD}")
