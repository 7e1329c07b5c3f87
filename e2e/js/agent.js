// An agent in the way of the SDK: it says what it is told to say, without acks and without waiting, also while it is away.
// It joins its room when it is told to, and never by itself.
"use strict";

const { input, open, line, end, print } = require("./driver.js");

const socket = open(input.token, { reconnectionDelay: 50, reconnectionDelayMax: 200 });

(async () => {
  for (;;) {
    const wish = await line();
    if (wish.end) break;
    const data = wish.data;
    if (wish.big) data[wish.big.field] = "é\n".repeat(wish.big.times);
    socket.emit(wish.emit, data);
  }
  print("told", {});
  end(socket);
})();
