// Slash commands, one after the other: each with or without an ack, silent or not. A step without an ack waits for the
// message that shows its result. At the end several go out at once.
"use strict";

const { input, open, once, call, end, print } = require("./driver.js");

(async () => {
  const socket = open(input.token);
  await once(socket, "connect");
  const joined = once(socket, "agency-joined");
  socket.emit("join-agency", { agencyId: input.room });
  await joined;

  for (const [i, step] of input.steps.entries()) {
    print("part", { name: "step " + i });
    const message = { agencyId: input.room, content: step.content, silent: step.silent };
    if (step.ack) {
      const shown = step.silent || step.private ? null : once(socket, "message");
      await call(socket, "send-message", message);
      await shown;
    } else {
      const shown = once(socket, "message");
      socket.emit("send-message", message);
      await shown;
    }
  }

  print("part", { name: "at once" });
  let answered = 0;
  await new Promise((resolve) => {
    for (const content of input.atOnce) {
      socket.emit("send-message", { agencyId: input.room, content, silent: true }, (answer) => {
        print("ack", { name: content, args: 1, data: answer });
        if (++answered === input.atOnce.length) resolve();
      });
    }
  });
  end(socket);
})();
