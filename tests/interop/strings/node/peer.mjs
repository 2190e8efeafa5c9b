// A client of node-redlock for the tests of string locks. One command a line on stdin, one answer a
// line on stdout; see string_peer.hpp.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

// The packages are where tests/interop/strings/run has put them.
const require = createRequire(process.argv[2] + "/");
const { Redis } = require("ioredis");
const { default: Redlock } = require("redlock");

const retryDelay = 50;
const redlock = new Redlock([new Redis(process.argv[3])], { retryDelay, retryJitter: 0 });
redlock.on("error", () => {});  // what fails is an answer
const locks = new Map();

async function answer([command, name, ttl, wait]) {
  switch (command) {
    case "acquire": {
      const lock = await redlock.acquire([name], Number(ttl), {
        retryCount: Math.floor(Number(wait) / retryDelay),
      });
      locks.set(name, lock);
      return `yes ${lock.value}`;
    }
    case "extend":
      locks.set(name, await locks.get(name).extend(Number(ttl)));
      return "yes";
    case "release":
      await locks.get(name).release();
      return "yes";
    default:
      return "unknown command";
  }
}

console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  console.log(await answer(line.split(" ")).catch((error) => `no ${error.constructor.name}`));
}
process.exit(0);
