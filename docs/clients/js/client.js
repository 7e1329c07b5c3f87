// A client of Parley with socket.io-client: it joins the Lobby, answers who mentions it, and misses nothing. PARLEY_URL is
// the server, PARLEY_TOKEN a session token or a personal access token. See docs/protocol.md.
"use strict";
const { io } = require("socket.io-client");
const { PARLEY_URL: url, PARLEY_TOKEN: token } = process.env;

const rest = async (path) => {
  const answer = await fetch(url + path, { headers: { authorization: "Bearer " + token } });
  if (!answer.ok) throw new Error(path + ": " + (await answer.text()));
  return answer.json();
};

(async () => {
  const me = await rest("/api/auth/me");
  const lobby = await rest("/api/agencies/lookup/lobby");
  const mention = new RegExp("@" + me.username + "\\b", "i");
  let since; // the highest seq of the Lobby that was seen; undefined: never joined
  let inside = false; // agency-joined has come on this connection
  // With retries an event that was not acked is sent again after a reconnect; the clientId makes it one answer.
  const socket = io(url, { auth: { token, recover: false }, transports: ["websocket"], retries: 100, ackTimeout: 10_000 });
  const join = () => socket.emit("join-agency", { agencyId: lobby.id, since });

  function saw(event, data) {
    if (data.agencyId !== lobby.id) return;
    if (inside && data.seq > since) since = data.seq;
    if (event !== "message" || data.sender_id === me.id || !mention.test(data.content)) return;
    const answer = { agencyId: lobby.id, content: "@" + data.sender_username + " yes?", replyTo: data.id, clientId: data.id };
    socket.emit("send-message", answer, (lost, ack) => console.log(ack?.ok ? "answered " + data.id : "refused: " + ack?.error));
  }

  socket.onAny((event, data) => event !== "agency-joined" && saw(event, data));
  socket.on("agency-joined", (joined) => {
    if (joined.agencyId !== lobby.id) return;
    for (const m of joined.missed ?? []) saw(m.event, m.data);
    since = joined.seq;
    inside = !joined.more; // else the rest comes with the next join
    console.log("joined " + since);
    if (joined.more) join();
  });
  socket.on("connect", () => { // also after every reconnect, which the library does by itself
    inside = false;
    join();
  });
  socket.on("error", (e) => console.log("error: " + e.message));
  socket.on("connect_error", (e) => console.log((socket.active ? "will try again: " : "refused: ") + e.message));
  socket.on("disconnect", (reason) => console.log("disconnected: " + reason)); // "io server disconnect": the token has ended
})();
