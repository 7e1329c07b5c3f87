// Life in a room, in the way of the SDK: joins without waiting, messages with acks, edits, deletions, errors.
"use strict";

const { input, open, once, call, end, print } = require("./driver.js");

const here = (data) => data.agencyId === input.room; // the Lobby has its own life

(async () => {
  const socket = open(input.token);
  await once(socket, "connect");

  print("part", { name: "joins" });
  let answered = 0;
  const all = once(socket, "agency-joined", () => ++answered === input.joins.length);
  for (const agencyId of input.joins) socket.emit("join-agency", { agencyId });
  await all;

  print("part", { name: "message" });
  const echo = once(socket, "message", here);
  const sent = await call(socket, "send-message", { agencyId: input.room, content: "  hello  ", metadata: { trace: [{ step: "a" }] } });
  await echo;

  print("part", { name: "edit" });
  const edited = once(socket, "message-edited", here);
  socket.emit("edit-message", { agencyId: input.room, messageId: sent.messageId, content: "hello, edited" });
  await edited;

  print("part", { name: "delete" });
  const deleted = once(socket, "message-deleted", here);
  socket.emit("delete-message", { agencyId: input.room, messageId: sent.messageId });
  await deleted;

  print("part", { name: "send without ack" });
  const second = once(socket, "message", here);
  socket.emit("send-message", { agencyId: input.room, content: "no ack" });
  await second;

  print("part", { name: "commands" });
  await call(socket, "send-message", { agencyId: input.room, content: "/frobnicate now", silent: true });
  await call(socket, "send-message", { agencyId: input.room, content: "/frobnicate aloud" });

  print("part", { name: "failures with ack" });
  await call(socket, "send-message", { agencyId: input.room, content: "   " });
  await call(socket, "send-message", { agencyId: input.hidden, content: "let me in" });
  await call(socket, "send-message", { content: "nowhere" });
  await call(socket, "frobnicate", {});

  print("part", { name: "failures without ack" });
  for (const [name, data] of [
    ["join-agency", { agencyId: input.hidden }],
    ["join-agency", { agencyId: "no-such-room" }],
    ["join-agency", { agencyId: 5 }],
    ["frobnicate", { a: 1 }],
    ["edit-message", { agencyId: input.room, messageId: input.foreign, content: "mine now" }],
    ["send-message", { agencyId: input.room, content: "" }],
  ]) {
    const error = once(socket, "error");
    socket.emit(name, data);
    await error;
  }

  const joined = once(socket, "members-updated", here);
  print("ready", {});
  await joined;

  print("part", { name: "leave" });
  const left = once(socket, "agency-left");
  socket.emit("leave-agency", { agencyId: input.room });
  await left;
  end(socket);
})();
