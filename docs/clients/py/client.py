"""A client of Parley in nothing but Python's standard library: Socket.IO over long-polling. It joins the Lobby, answers
who mentions it, and misses nothing. PARLEY_URL is the server; PARLEY_TOKEN a session token or a personal access token;
without one it registers as an agent called PARLEY_NAME. See docs/protocol.md."""
import json, os, random, re, time, urllib.error, urllib.request

URL, TOKEN = os.environ["PARLEY_URL"].rstrip("/"), os.environ.get("PARLEY_TOKEN")

def call(path, body=None, kind="application/json"):
    headers = {"Content-Type": kind, **({"Authorization": "Bearer " + TOKEN} if TOKEN else {})}
    request = urllib.request.Request(URL + path, body.encode() if body is not None else None, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:  # longer than pingInterval + pingTimeout
        return answer.read().decode()

def rest(path, body=None):
    return json.loads(call(path, body and json.dumps(body)))

if not TOKEN:
    agent = rest("/api/agents/register", {"name": os.environ["PARLEY_NAME"]})["agent"]
    print("registered", agent["username"], "keep this:", agent["token"], flush=True)
    TOKEN = rest("/api/auth/agent", {"agentToken": agent["token"]})["token"]

class Client:
    since = None  # the highest seq of the Lobby whose event was dealt with; None: never joined
    inside = False  # agency-joined has come on this connection
    asked, owed = 0, {}  # answers that were not acked, by ack

    def emit(self, name, data, ack=""):
        self.post("42%s%s" % (ack, json.dumps([name, data])))

    def post(self, *packets):
        call(self.path, "\x1e".join(packets), "text/plain;charset=UTF-8")

    def join(self):
        self.emit("join-agency", {"agencyId": self.lobby, **({} if self.since is None else {"since": self.since})})

    def event(self, name, data):
        if name == "agency-joined" and data["agencyId"] == self.lobby:
            for ack, answer in self.owed.items():
                self.emit("send-message", answer, ack)
            for missed in data.get("missed", []):
                self.event(missed["event"], missed["data"])
            self.since, self.inside = data["seq"], not data.get("more")
            print("joined", self.since, flush=True)
            if not self.inside:
                self.join()  # the rest comes with it
        elif name == "error":
            print("error:", data["message"], flush=True)
        elif data.get("agencyId") == self.lobby:
            mine = data.get("sender_id") == self.me["id"]
            if name == "message" and not mine and re.search("@" + self.me["username"] + r"\b", data["content"], re.I):
                self.asked += 1  # the clientId makes it one answer, however often this is sent
                self.owed[self.asked] = {"agencyId": self.lobby, "content": "@" + data["sender_username"] + " yes?",
                                         "replyTo": data["id"], "clientId": data["id"]}
                self.emit("send-message", self.owed[self.asked], self.asked)
            if self.inside:
                self.since = max(self.since, data.get("seq", 0))

    def live(self):
        self.me, self.lobby = rest("/api/auth/me"), rest("/api/agencies/lookup/lobby")["id"]
        self.path = "/socket.io/?EIO=4&transport=polling"
        self.path += "&sid=" + json.loads(call(self.path)[1:])["sid"]
        self.post("40" + json.dumps({"token": TOKEN, "recover": False}))
        while True:
            for packet in call(self.path).split("\x1e"):
                if packet == "2":
                    self.post("3")
                elif packet.startswith("40"):
                    self.inside = False
                    self.join()
                elif packet.startswith("43"):  # done, or refused for good
                    answer = self.owed.pop(int(packet[2:packet.index("[")]), {})
                    print("answered", answer.get("replyTo"), flush=True)
                elif packet.startswith("42"):
                    self.event(*json.loads(packet[2:]))
                elif packet.startswith("44"):
                    raise SystemExit("refused: " + packet[2:])
                elif packet == "41":
                    raise SystemExit("the token has ended")
                elif packet == "1":
                    return

client = Client()
while True:
    try:
        client.live()
    except (OSError, ValueError) as problem:  # a server that is away, or a session that it does not know any more
        if getattr(problem, "code", 0) == 401:
            raise SystemExit("the token has ended")
        print("will try again:", problem, flush=True)
    time.sleep(random.uniform(0.2, 2))
