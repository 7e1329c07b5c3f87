// A program that stays: it joins its room at every connect, with the last sequence that it saw, like a client that wants
// to miss nothing. It says what it is told to say, and goes when it is told to, or when it is put out.
"use strict";

const { input, open, call, line, end, print } = require("./driver.js");

let since;
const socket = open(input.token, { transports: input.transports, reconnectionDelay: 50, reconnectionDelayMax: 200 });

function saw(data) {
  if (data && typeof data.seq === "number" && (since === undefined || data.seq > since)) since = data.seq;
}

socket.on("message", saw);
socket.on("agency-joined", (joined) => {
  if (joined.more) { // cut: the rest comes with the next join (decision 29)
    for (const m of joined.missed) saw(m.data);
    socket.emit("join-agency", { agencyId: input.room, since });
    return;
  }
  saw(joined);
});
socket.on("connect", () => socket.emit("join-agency", { agencyId: input.room, since }));
socket.on("disconnect", (reason) => {
  if (reason === "io server disconnect") end(socket); // evicted: it does not come back
});

(async () => {
  for (;;) {
    const wish = await line();
    if (wish.end) break;
    await call(socket, "send-message", { agencyId: input.room, content: wish.say });
  }
  print("seen", { data: since });
  end(socket);
})();
