// A person that joins one room, is cut off like a train in a tunnel, and afterwards does nothing: its room and its direct
// messages have to come by themselves, also after the server was killed.
"use strict";

const { input, open, once, line, end, print } = require("./driver.js");

(async () => {
  const socket = open(input.token, { reconnectionDelay: 50, reconnectionDelayMax: 200 });
  await once(socket, "connect");
  socket.emit("join-agency", { agencyId: input.room });
  await once(socket, "agency-joined");
  print("ready", {});
  for (;;) {
    const wish = await line();
    if (wish.end) break;
    if (wish.cut) socket.io.engine.close();
    if (wish.emit) socket.emit(wish.emit, wish.data);
  }
  end(socket);
})();
