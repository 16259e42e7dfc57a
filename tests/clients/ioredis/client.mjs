// A client of ioredis under the runner: a command a line on stdin, an answer a line on stdout (tests/clients/README.md).
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";

const [host, port] = process.argv.slice(2);
const say = (...words) => console.log(words.join(" "));

const redis = new Redis({ host, port });
redis.on("error", (error) => say("event", error.message));
await once(redis, "ready");
say("ready");

let subscriber;
async function subscribe(channel) {
  subscriber = redis.duplicate();
  subscriber.on("error", (error) => say("event", error.message));
  subscriber.on("message", (_, notice) => say("notice", notice));
  await subscriber.subscribe(channel);
  return "subscribed";
}

async function pipeline(count, command, item) {
  const commands = redis.pipeline();
  for (let user = 0; user < count; user++) commands.call(command, item, user);
  const results = await commands.exec();
  return results.map(([error, reply]) => error ?? reply).join(" ");
}

async function follow(last, count) {
  const told = [];
  while (told.length < count) {
    const streams = await redis.xread("BLOCK", 0, "STREAMS", "log", last);
    const [, entries] = Array.isArray(streams) ? streams[0] : Object.entries(streams)[0];
    for (const [id, pairs] of entries) {
      const fields = {};
      for (let at = 0; at < pairs.length; at += 2) fields[pairs[at]] = pairs[at + 1];
      told.push(`${(last = id)}:${fields.event}:${fields.user}`);
    }
  }
  return told.join(" ");
}

async function close() {
  await Promise.all([redis.quit(), subscriber?.quit()]);
  return "closed";
}

const own = { subscribe, pipeline, follow, close };
const input = createInterface({ input: process.stdin });
for await (const line of input) {
  const [name, ...words] = line.split(" ");
  try {
    say("reply", await (own[name]?.(...words) ?? redis.call(name, ...words)));
  } catch (error) {
    say("error", error.message);
  }
  if (name === "close") break;
}
input.close();
process.stdin.destroy();
