"""The app as its users meet it: `python app.py` in a process of its own, on a free port."""
import os, signal, socket, subprocess, sys, time, urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Server:
    "A running app: where it is, what it has logged, and where it keeps its files."
    def __init__(self, process: subprocess.Popen, url: str, log: Path, temp: Path):
        self.process, self.url, self._log, self.temp = process, url, log, temp

    @property
    def log(self) -> str: return self._log.read_text(errors="replace")

    def files(self) -> list[Path]:
        "Everything that visitors have on the server's disk."
        return [p for p in self.temp.glob("cdmd-app-*/*/*/**/*") if p.is_file()]

    def sessions(self) -> list[Path]:
        "The folders of the sessions that are open."
        return list(self.temp.glob("cdmd-app-*/*/session-*"))

    def wait_until(self, condition, seconds: float, what: str) -> None:
        "Wait for something to become true."
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"{what} did not happen within {seconds} seconds"
            time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextmanager
def run_app(folder: Path, python: str = sys.executable, wait: float = 120, **env: str):
    "Start the app, give it to the test, stop it."
    port, temp, log = free_port(), folder / "tmp", folder / "app.log"
    temp.mkdir(parents=True, exist_ok=True)
    settings = {"GRADIO_SERVER_PORT": str(port), "TMPDIR": str(temp), "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1", "HF_HUB_OFFLINE": "1",
                "OMP_NUM_THREADS": "1"}
    with log.open("w") as out:
        process = subprocess.Popen([python, "app.py"], cwd=ROOT, env={**os.environ, **settings, **env}, stdout=out, stderr=subprocess.STDOUT)
    server = Server(process, f"http://127.0.0.1:{port}", log, temp)
    try:
        end = time.monotonic() + wait
        while True:
            try:
                urllib.request.urlopen(server.url, timeout=2).close()
                break
            except OSError:
                assert process.poll() is None, server.log
                assert time.monotonic() < end, f"the app did not start within {wait} seconds:\n{server.log}"
                time.sleep(0.3)
        yield server
    finally:
        process.terminate()
        try: process.wait(15)
        except subprocess.TimeoutExpired:  # it hangs: its log ends with the stacks of all threads
            process.send_signal(signal.SIGABRT)
            process.wait()
            print(server.log[-20_000:])
