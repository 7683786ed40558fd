"""A small Hugging Face Hub on loopback: what `huggingface_hub` asks for when it downloads a snapshot, creates a repository and uploads a folder."""
import base64, hashlib, json, re, socket, threading, time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

_REPO = r"(?P<repo>(?:[\w.-]+/)?[\w.-]+)"
_AT = r"(?P<revision>[^/]+)"


def _git_hash(data: bytes) -> str: return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass
class Repo:
    "A model repository: whole snapshots by commit, and names for some of them."
    private: bool = False
    gated: bool = False
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def commit(self, files: dict[str, bytes], branch: str = "main", message: str = "") -> str:
        sha = hashlib.sha1(f"{len(self.commits)} {sorted((k, _git_hash(v)) for k, v in files.items())}".encode()).hexdigest()
        self.commits[sha], self.refs[branch] = dict(files), sha
        self.messages.append(message)
        return sha


class _Refused(Exception):
    def __init__(self, status: int, code: str = "", message: str = ""):
        self.status, self.code, self.message = status, code, message


class Hub:
    """The server's state. `tokens` maps a token to (user, may write).

    `faults` maps a file's path to what is wrong when it is downloaded: "truncated" (a shorter body, announced as such), "cut" (the connection ends
    in the middle, once) or "changed" (other bytes of the same length). `down` is a status code to answer everything with, `mute` lets everybody wait.
    `lfs` says whether weights are kept in the large file storage.
    """
    def __init__(self):
        self.repos: dict[str, Repo] = {}
        self.tokens: dict[str, tuple[str, bool]] = {"hf_owner": ("me", True), "hf_reader": ("you", False)}
        self.faults: dict[str, str] = {}
        self.down: int | None = None
        self.mute = threading.Event()
        self.lfs = True
        self.large: dict[str, bytes] = {}
        self.log: list[tuple[str, str]] = []
        self.leaked: list[str] = []
        self.connections: list[socket.socket] = []
        self._servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler) for handler in (_handler(self, _Api), _handler(self, _Storage))]
        self.endpoint, self.storage = (f"http://127.0.0.1:{s.server_port}" for s in self._servers)

    def __enter__(self) -> "Hub":
        for s in self._servers: threading.Thread(target=s.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_) -> None: self.stop()

    def stop(self) -> None:
        "From now on nobody answers."
        while self._servers:
            server = self._servers.pop()
            server.shutdown(); server.server_close()
        for connection in self.connections:
            try: connection.shutdown(socket.SHUT_RDWR)
            except OSError: pass  # ended already

    def is_large(self, path: str) -> bool: return self.lfs and path.endswith(".safetensors")

    def find(self, name: str, token: str, write: bool = False) -> Repo:
        "A repository, if the token may see it."
        user, may_write = self.tokens.get(token, (None, False))
        repo = self.repos.get(name)
        if repo is None or (repo.private and user != name.split("/")[0]):
            raise _Refused(404 if user else 401, "RepoNotFound", "Repository not found")
        if write and not user: raise _Refused(401, "RepoNotFound", "Invalid username or password.")
        if write and not (may_write and user == name.split("/")[0]): raise _Refused(403, "", "Forbidden: you must use a write token")
        return repo

    def snapshot(self, repo: Repo, revision: str) -> tuple[str, dict[str, bytes]]:
        sha = repo.refs.get(revision, revision)
        if sha not in repo.commits: raise _Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return sha, repo.commits[sha]

    def spoil(self, path: str, body: bytes) -> tuple[bytes, bool]:
        "The body as a broken network would bring it, and whether the connection ends early."
        fault = self.faults.get(path)
        if fault == "truncated": return body[:len(body) // 2], False
        if fault == "changed": return bytes([body[0] ^ 1]) + body[1:-1] + bytes([body[-1] ^ 1]), False
        if fault == "cut": return body, self.faults.pop(path) == "cut"
        return body, False


def _handler(hub: Hub, kind: type) -> type: return type(kind.__name__, (kind,), {"hub": hub})


class _Base(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_) -> None: pass

    def setup(self) -> None:
        super().setup()
        self.hub.connections.append(self.connection)

    def _answer(self) -> None:
        address = urlsplit(self.path)
        self.query, self.where = parse_qs(address.query), unquote(address.path)
        self.hub.log.append((self.command, self.where))
        self.body = self._read_chunks() if self.headers.get("Transfer-Encoding") == "chunked" else self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            if self.hub.down: raise _Refused(self.hub.down)
            if self.hub.mute.is_set(): time.sleep(5)
            self.route(address.path)
        except _Refused as e:
            self.send(json.dumps({"error": e.message}).encode(), e.status, {"X-Error-Code": e.code, "X-Error-Message": e.message})
        except ConnectionError: self.close_connection = True  # the client did not wait

    def _read_chunks(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline(), 16): parts.append(self.rfile.read(size)); self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    do_GET = do_HEAD = do_POST = do_PUT = _answer

    def send(self, body: bytes = b"", status: int = 200, headers: dict[str, str] | None = None, cut: bool = False) -> None:
        "Answer, with part of the body if a range was asked for."
        whole, ranged = len(body), re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if ranged and status == 200 and self.command == "GET":
            first, last = int(ranged[1]), min(int(ranged[2] or whole - 1), whole - 1)
            body, status, headers = body[first:last + 1], 206, {**(headers or {}), "Content-Range": f"bytes {first}-{last}/{whole}"}
        self.send_response(status)
        for k, v in {"Content-Length": str(len(body)), **(headers or {})}.items():
            if v: self.send_header(k, v)
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body[:len(body) // 2] if cut else body)
        if cut: self.close_connection = True

    def send_json(self, value) -> None: self.send(json.dumps(value).encode(), headers={"Content-Type": "application/json"})


class _Storage(_Base):
    "Where large files lie: another origin, which must not be sent the token."
    def route(self, path: str) -> None:
        if self.headers.get("Authorization"): self.hub.leaked.append(path)
        oid = path.strip("/").split("/")[0]
        if self.command == "PUT":
            if hashlib.sha256(self.body).hexdigest() != oid: raise _Refused(400, "", "wrong hash")
            self.hub.large[oid] = self.body
            return self.send()
        body, cut = self.hub.spoil(self.where.strip("/").split("/", 1)[1], self.hub.large[oid])
        self.send(body, cut=cut)


class _Api(_Base):
    "The Hub itself."
    def route(self, path: str) -> None:
        self.token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.token and self.token not in self.hub.tokens: raise _Refused(401, "", "Invalid credentials in Authorization header")
        for method, pattern, answer in self.routes:
            if self.command in method and (m := re.fullmatch(pattern, path)): return answer(self, **{k: unquote(v) for k, v in m.groupdict().items()})
        raise _Refused(404, "", f"no route {self.command} {path}")

    def info(self, repo: str, revision: str = "main") -> None:
        r = self.hub.find(repo, self.token)
        sha, files = self.hub.snapshot(r, revision) if r.commits or revision != "main" else ("0" * 40, {})
        self.send_json({"_id": "1", "id": repo, "modelId": repo, "sha": sha, "private": r.private, "gated": "manual" if r.gated else False, "tags": [],
                        "downloads": 0, "likes": 0, "siblings": [{"rfilename": p} for p in files]})

    def tree(self, repo: str, revision: str) -> None:
        r = self.hub.find(repo, self.token)
        files = self.hub.snapshot(r, revision)[1] if r.commits else {}
        rows = [{"type": "file", "path": p, "size": len(b), "oid": _git_hash(b)} for p, b in files.items()]
        for row in rows:
            if self.hub.is_large(row["path"]): row["lfs"] = {"oid": hashlib.sha256(files[row["path"]]).hexdigest(), "size": row["size"], "pointerSize": 130}
        self.send_json(rows)

    def resolve(self, repo: str, revision: str, path: str) -> None:
        r = self.hub.find(repo, self.token)
        if r.gated: raise _Refused(403, "GatedRepo", "Access to this model is restricted")
        sha, files = self.hub.snapshot(r, revision)
        if path not in files: raise _Refused(404, "EntryNotFound", "Entry not found")
        body, headers = files[path], {"X-Repo-Commit": sha}
        if self.hub.is_large(path):
            oid = hashlib.sha256(body).hexdigest()
            self.hub.large[oid] = body
            return self.send(status=302, headers=headers | {"Location": f"{self.hub.storage}/{oid}/{path}", "X-Linked-Etag": f'"{oid}"',
                                                           "X-Linked-Size": str(len(body))})
        headers["ETag"] = f'"{_git_hash(body)}"'
        if self.command == "HEAD": return self.send(body, headers=headers)
        body, cut = self.hub.spoil(path, body)
        self.send(body, headers=headers, cut=cut)

    def create(self) -> None:
        asked = json.loads(self.body)
        user, may_write = self.hub.tokens.get(self.token, (None, False))
        if not user: raise _Refused(401, "", "Invalid username or password.")
        owner = asked.get("organization") or user
        if not may_write or owner != user: raise _Refused(403, "", "You don't have the rights to create a model under this namespace")
        name = f"{owner}/{asked['name']}"
        url = {"url": f"{self.hub.endpoint}/{name}"}
        if name in self.hub.repos: return self.send(json.dumps({"error": "You already created this model repo", **url}).encode(), 409)
        self.hub.repos[name] = Repo(private=asked.get("visibility") == "private" or bool(asked.get("private")))
        self.send_json(url)

    def validate(self) -> None:
        text = json.loads(self.body)["content"]
        try: good = isinstance(yaml.safe_load(re.match(r"---\n(.*?)\n---\n", text, re.S)[1]), dict)
        except (TypeError, yaml.YAMLError): good = False
        if not good: return self.send(json.dumps({"errors": [{"message": "bad front matter"}], "warnings": []}).encode(), 400)
        self.send_json({"errors": [], "warnings": []})

    def preupload(self, repo: str, revision: str) -> None:
        r = self.hub.find(repo, self.token, write=True)
        there = r.commits.get(r.refs.get(revision), {})
        oid = lambda p: (hashlib.sha256(there[p]).hexdigest() if self.hub.is_large(p) else _git_hash(there[p])) if p in there else None
        mode = lambda p: "lfs" if self.hub.is_large(p) else "regular"
        paths = [f["path"] for f in json.loads(self.body)["files"]]
        self.send_json({"files": [{"path": p, "uploadMode": mode(p), "shouldIgnore": False, "oid": oid(p)} for p in paths]})

    def batch(self, repo: str) -> None:
        self.hub.find(repo, self.token, write=True)
        upload = lambda o: {} if o["oid"] in self.hub.large else {"actions": {"upload": {"href": f"{self.hub.storage}/{o['oid']}/upload", "header": {}}}}
        self.send_json({"transfer": "basic", "objects": [o | upload(o) for o in json.loads(self.body)["objects"]]})

    def commit(self, repo: str, revision: str) -> None:
        r = self.hub.find(repo, self.token, write=True)
        files, summary = dict(r.commits.get(r.refs.get(revision), {})), ""
        for line in self.body.splitlines():
            key, value = (item := json.loads(line))["key"], item["value"]
            if key == "header": summary = value["summary"]
            elif key == "file": files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile": files[value["path"]] = self.hub.large[value["oid"]]
            elif key == "deletedFile": del files[value["path"]]
            else: raise _Refused(400, "", f"unknown operation {key}")
        sha = r.commit(files, revision, summary)
        self.send_json({"commitUrl": f"{self.hub.endpoint}/{repo}/commit/{sha}", "commitOid": sha, "hookOutput": "", "success": True})

    routes = [("GET", f"/api/models/{_REPO}", info), ("GET", f"/api/models/{_REPO}/revision/{_AT}", info), ("GET", f"/api/models/{_REPO}/tree/{_AT}", tree),
              (("HEAD", "GET"), f"/{_REPO}/resolve/{_AT}/(?P<path>.+)", resolve), ("POST", "/api/repos/create", create),
              ("POST", "/api/validate-yaml", validate), ("POST", f"/api/models/{_REPO}/preupload/{_AT}", preupload),
              ("POST", rf"/{_REPO}\.git/info/lfs/objects/batch", batch), ("POST", f"/api/models/{_REPO}/commit/{_AT}", commit)]
