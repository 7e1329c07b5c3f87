// What every script shares: it opens sockets with the real socket.io-client and prints all that happens as JSON lines,
// which a Go test reads. The test's wishes come as one JSON argument; what it says later comes as lines of input.
"use strict";

const readline = require("node:readline");
const { io } = require("socket.io-client");

const input = JSON.parse(process.argv[2]);
const limit = setTimeout(() => fail("the script did not end in time"), 60_000);

function print(kind, fields) {
  process.stdout.write(JSON.stringify({ kind, ...fields }) + "\n");
}

function fail(message) {
  print("failure", { message: String(message) });
  process.exit(1);
}

process.on("uncaughtException", (e) => fail(e.stack));
process.on("unhandledRejection", (e) => fail(e && e.stack));

const names = [
  "message", "message-edited", "message-deleted", "members-updated", "agency-joined", "agency-left", "agency-updated",
  "agency-deleted", "error",
];

// open makes a socket whose every event is printed. Handlers get all arguments, to see that there is exactly one.
function open(token, options) {
  const socket = io(input.url, { auth: { token }, transports: ["websocket"], forceNew: true, ...options });
  for (const name of names) {
    socket.on(name, function (data) {
      print("event", { name, args: arguments.length, data });
    });
  }
  socket.onAny((name, ...args) => {
    if (!names.includes(name)) print("event", { name, args: args.length, data: args[0] });
  });
  socket.on("connect", () => print("connect", { sid: socket.id, recovered: socket.recovered }));
  socket.on("connect_error", (e) => print("connect_error", { message: e.message, active: socket.active }));
  socket.on("disconnect", (reason) => print("disconnect", { message: reason, active: socket.active }));
  return socket;
}

// once resolves with an event's data, the first that matches. Several events may come at one blow, so whoever waits for
// more than one counts them in match.
function once(socket, name, match = () => true) {
  return new Promise((resolve) => {
    const listener = (data) => {
      if (!match(data)) return;
      socket.off(name, listener);
      resolve(data);
    };
    socket.on(name, listener);
  });
}

// call emits with an ack function and prints the ack.
function call(socket, name, data) {
  return new Promise((resolve) => {
    socket.emit(name, data, function (answer) {
      print("ack", { name, args: arguments.length, data: answer });
      resolve(answer);
    });
  });
}

// lines resolves the next line of input.
const reader = readline.createInterface({ input: process.stdin });
const iterator = reader[Symbol.asyncIterator]();
async function line() {
  const { value, done } = await iterator.next();
  if (done) fail("the input ended");
  return JSON.parse(value);
}

function end(...sockets) {
  for (const s of sockets) s.close();
  clearTimeout(limit);
  reader.close();
  print("end", {});
}

module.exports = { input, open, once, call, line, print, fail, end };
