// A client of node-redis under the runner: a command a line on stdin, an answer a line on stdout (tests/clients/README.md).
import { createInterface } from "node:readline";
import { createClient } from "redis";

const [host, port] = process.argv.slice(2);
const say = (...words) => console.log(words.join(" "));

const client = createClient({ socket: { host, port: Number(port) } });
client.on("error", (error) => say("event", error.message));
await client.connect();
say("ready");

let subscriber;
async function subscribe(channel) {
  subscriber = client.duplicate();
  subscriber.on("error", (error) => say("event", error.message));
  await subscriber.connect();
  await subscriber.subscribe(channel, (notice) => say("notice", notice));
  return "subscribed";
}

async function pipeline(count, command, item) {
  // What is sent in one turn of the event loop leaves in one write.
  const users = Array.from({ length: count }, (_, user) => String(user));
  const replies = await Promise.all(users.map((user) => client.sendCommand([command, item, user])));
  return replies.join(" ");
}

async function close() {
  await Promise.all([client.quit(), subscriber?.quit()]);
  return "closed";
}

const own = { subscribe, pipeline, close };
const input = createInterface({ input: process.stdin });
for await (const line of input) {
  const [name, ...words] = line.split(" ");
  try {
    say("reply", await (own[name]?.(...words) ?? client.sendCommand([name, ...words])));
  } catch (error) {
    say("error", error.message);
  }
  if (name === "close") break;
}
input.close();
process.stdin.destroy();
