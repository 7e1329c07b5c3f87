// Several sockets of one transport mode under load: each joins a room and sends numbered messages at once, while somebody
// else writes there too. Each tells in the end what it saw, in its order, and how it travelled.
"use strict";

const { io } = require("socket.io-client");
const { input, print, fail, end } = require("./driver.js");

async function run(index) {
  const socket = io(input.url, { auth: { token: input.token }, transports: input.transports, forceNew: true, reconnection: false });
  const seen = { first: "", last: "", own: [], acks: [], others: [], closed: "" };
  let told, joined;
  const all = new Promise((resolve) => (told = resolve));
  const inside = new Promise((resolve) => (joined = resolve));
  const done = () => {
    if (seen.own.length === input.count && seen.acks.length === input.count && seen.others.length === input.others) told();
  };
  socket.on("message", function (m) {
    if (arguments.length !== 1) fail("a message has " + arguments.length + " arguments");
    const [who, n] = m.content.split(" ");
    if (who === "socket" + index) seen.own.push(Number(n));
    if (who === "other") seen.others.push(Number(n));
    done();
  });
  socket.on("agency-joined", joined);
  socket.on("error", (e) => fail("error event: " + e.message));
  socket.on("connect_error", (e) => fail("connect_error: " + e.message));
  socket.on("disconnect", (reason) => { seen.closed = reason; });
  socket.io.on("open", () => { seen.first = socket.io.engine.transport.name; });
  socket.on("connect", () => {
    socket.emit("join-agency", { agencyId: input.room });
    for (let n = 0; n < input.count; n++) {
      socket.emit("send-message", { agencyId: input.room, content: "socket" + index + " " + n }, (a) => {
        if (!a.ok) fail("ack: " + JSON.stringify(a));
        seen.acks.push(n);
        done();
      });
    }
  });
  await inside;
  return { seen, socket, all };
}

(async () => {
  const runs = await Promise.all([...Array(input.sockets).keys()].map(run));
  print("inside", {});
  for (const r of runs) {
    await r.all;
    r.seen.last = r.socket.io.engine.transport.name;
    print("seen", { data: r.seen });
  }
  end(...runs.map((r) => r.socket));
})();
