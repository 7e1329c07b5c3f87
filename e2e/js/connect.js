// Who gets in: a session, a personal access token, and nobody else.
"use strict";

const { input, open, once, end, print } = require("./driver.js");

(async () => {
  for (const token of input.good) {
    const socket = open(token);
    await once(socket, "connect");
    socket.close();
  }
  for (const token of input.bad) {
    const socket = open(token);
    await once(socket, "connect_error");
    // A refusal stops the client for good: it makes no further try by itself.
    print("refused", { active: socket.active });
    socket.close();
  }
  end();
})();
