"""Visits to the app in a real browser: Debian's Chromium, without a screen."""
import os, re, shutil, time, zipfile
from pathlib import Path

import numpy as np, pandas as pd, pytest

from app_server import run_app
from hub_server import Hub, Repo

CHROMIUM = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
try: from playwright.sync_api import expect, sync_playwright
except ImportError: sync_playwright = None
MISSING = [what for what, there in (("Chromium (Debian package chromium)", CHROMIUM), ("playwright (tests/requirements.txt)", sync_playwright)) if not there]
if MISSING and os.environ.get("CI"): pytest.fail(f"The browser tests lack {' and '.join(MISSING)}.", pytrace=False)
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"the browser tests lack {' and '.join(MISSING)}; `make test` installs both where it may")

EVIL = "<img src=x onerror=alert(1)>"
SECONDS = 5


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    "The app, and a Hub that has one checkpoint."
    from cdmd_nb import Synthesizer
    folder = tmp_path_factory.mktemp("app")
    saved = Synthesizer("tiny").save(folder / "saved")
    with Hub() as hub:
        hub.repos["me/tables"] = Repo()
        hub.repos["me/tables"].commit({p.name: p.read_bytes() for p in saved.iterdir()})
        env = dict(HF_ENDPOINT=hub.endpoint, HF_HUB_OFFLINE="0", HF_HOME=str(folder / "hf"), HF_HUB_DISABLE_XET="1")
        with run_app(folder, CDMD_MAX_MINUTES=str(SECONDS / 60), CDMD_CHECKPOINT="", **env) as s: yield s


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shots(tmp_path_factory) -> Path:
    "Where the screenshots of every step go: CDMD_SHOTS, else a temporary folder."
    folder = Path(os.environ.get("CDMD_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Visit:
    "One visitor with a page of their own, who notes everything that goes wrong in it."
    def __init__(self, chromium, server, shots: Path, name: str, width: int = 1280, theme: str = "light"):
        self.server, self.shots, self.name, self.wrong = server, shots, name, []
        self.context = chromium.new_context(viewport={"width": width, "height": 900}, accept_downloads=True)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.page.on("pageerror", lambda e: self.wrong.append(f"script error: {e}"))
        self.page.on("dialog", lambda d: (self.wrong.append(f"dialog: {d.message}"), d.dismiss()))
        self.page.on("request", lambda r: self.wrong.append(f"asked another server: {r.url}") if not r.url.startswith((server.url, "data:", "blob:")) else None)
        self.page.goto(f"{server.url}/?__theme={theme}")
        self.page.wait_for_selector(".cd-example")

    def shot(self, step: str) -> None:
        "A picture of the whole page; on every width it must fit."
        self.page.wait_for_timeout(300)
        self.page.screenshot(path=self.shots / f"{self.name}-{step}.png", full_page=True)
        wide, width = self.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert wide <= width, f"{step}: the page is {wide} pixels wide on a screen of {width}"

    def tab(self, i: int) -> None: self.page.locator("#steps [role=tab]:visible").nth(i - 1).click()
    def text(self, where: str) -> str: return self.page.locator(where).inner_text()
    def upload(self, path: Path) -> None: self.page.set_input_files("#upload input[type=file]", path)

    def fit_epochs(self, epochs: str) -> None:
        "Ask for training by epochs."
        self.tab(3)
        self.page.locator("#budget label", has_text="epochs").click()
        self.page.locator("#epochs input").fill(epochs)
        self.page.click("#go")

    def error(self) -> str:
        "The sentence in the error that is shown; it is closed."
        toast = self.page.locator(".toast-body").first
        toast.wait_for()
        said = toast.inner_text()
        self.page.locator(".toast-close").first.click()
        expect(self.page.locator(".toast-body")).to_have_count(0)
        return said

    def compared(self, seconds: float = 120) -> None:
        self.page.wait_for_selector("#card .cd-tile", timeout=1000 * seconds)
        self.page.wait_for_selector("#explorer [data-part=pair] .main-svg")

    def download(self, button: str) -> Path:
        with self.page.expect_download() as d: self.page.click(button)
        path = self.shots / f"{self.name}-{d.value.suggested_filename}"
        d.value.save_as(path)
        return path

    def leave(self) -> None:
        "Close the page; nothing may have gone wrong in it."
        self.context.close()
        assert not self.wrong, self.wrong


@pytest.fixture
def visit(chromium, server, shots, request):
    visits, before = [], len(server.log)
    def make(**how) -> Visit:
        name = request.node.name.removeprefix("test_") + (f"-{len(visits)}" if visits else "")
        visits.append(Visit(chromium, server, shots, name, **how))
        return visits[-1]
    yield make
    for v in visits: v.leave()
    assert "Traceback" not in server.log[before:], server.log[-5000:]


def customers(n: int, seed: int = 0) -> pd.DataFrame:
    "Dates, holes, identifiers, money, and codes that look like numbers."
    rng = np.random.default_rng(seed)
    spent = rng.gamma(2, 300, n).round(2)
    return pd.DataFrame({"customer_id": [f"C{i:05d}" for i in range(n)], "joined": pd.date_range("2020-01-01", periods=n, freq="7h").strftime("%d/%m/%Y"),
                         "age": np.where(rng.random(n) < 0.15, np.nan, rng.integers(18, 90, n)), "plan": rng.choice(["basic", "plus", "pro"], n),
                         "spent": [f"${v:,.2f}" for v in spent], "shelf": rng.choice([3, 17, 240, 1100], n), "churned": np.where(spent < 400, "yes", "no")})


def test_whole_way_with_an_example(visit):
    v = visit()
    v.shot("1-first")
    assert "Checkpoint: embedded" in v.text("#state")
    assert re.search(r"CPU: \d+ cores|GPU", v.text("#state"))
    for i in (2, 3, 4, 5):
        v.tab(i)
        expect(v.page.locator(".cd-notice.empty:visible")).to_have_count(1)
        v.shot(f"{i}-empty")
    v.tab(1)
    v.page.locator(".cd-example").first.click()
    v.page.wait_for_selector("#fit-progress .cd-bar:not(.busy)", timeout=60_000)
    assert "rows/s" in v.text("#fit-progress") and "left" in v.text("#fit-progress")
    v.shot("3-training")
    v.compared()
    v.shot("5-compare")
    assert v.page.locator(".cd-tile").count() == 5
    for tile in v.page.locator(".cd-tile").all(): assert "floor" in tile.inner_text() and "ceiling" in tile.inner_text()
    assert "synthetic rows equal a training row" in v.text("#privacy")
    for i in (1, 2, 3, 4):
        v.tab(i)
        v.shot(f"{i}-after")
    v.tab(3)
    v.page.wait_for_selector("#losses .main-svg")
    assert "held back for the comparison" in v.text("#fit-note")


def test_pictures_answer_clicks(visit):
    v = visit()
    v.page.locator(".cd-example").nth(1).click()
    v.compared()
    def press(part: str, across: float, down: float) -> None:
        area = v.page.locator(f"#explorer [data-part={part}] .nsewdrag").first
        area.scroll_into_view_if_needed()
        box = area.bounding_box()
        v.page.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])
        v.page.wait_for_timeout(400)  # Plotly takes two clicks within 300 ms for a double click
    n = v.page.locator("#explorer [data-part=which] option").count()
    for at in (0, n - 1):
        press("shapes", 0.1, (at + 0.5) / n)
        expect(v.page.locator("#explorer [data-part=column] .gtitle")).to_contain_text(v.page.evaluate(
            "([i]) => { const p = document.querySelector('#explorer [data-part=shapes]'); return p.layout.yaxis.ticktext[i]; }", [at]))
    cells = v.page.locator("#explorer [data-part=down] option").all_text_contents()
    press("trends", (len(cells) - 0.5) / len(cells), 0.5 / len(cells))
    expect(v.page.locator("#explorer [data-part=pair] .gtitle")).to_contain_text(f"{cells[0]}  ×  {cells[-1]}", use_inner_text=False)
    v.page.select_option("#explorer [data-part=which]", index=2)
    v.page.wait_for_timeout(400)
    assert v.page.locator("#explorer [data-part=which]").input_value() == "2"
    v.shot("5-clicked")


def test_upload_and_correct(visit, tmp_path):
    v, df = visit(), customers(400)
    df.to_csv(tmp_path / "my_customers.csv", index=False, sep=";")
    v.upload(tmp_path / "my_customers.csv")
    v.page.wait_for_selector("#preview table")
    assert "400 rows, 7 columns" in v.text("#table-note") and "semicolons" in v.text("#table-note")
    assert v.page.locator("#table-name textarea, #table-name input").first.input_value() == "my customers"
    v.shot("1-uploaded")
    v.page.click("#to-columns")
    row = lambda name: v.page.locator(".cd-column", has=v.page.locator(f"b:text-is('{name}')"))
    kind = lambda name: row(name).locator("select").input_value()
    assert [kind(c) for c in df] == ["ignored", "datetime", "numerical", "categorical", "numerical", "numerical", "categorical"]
    assert "missing" in row("age").inner_text() and "dates" in row("joined").inner_text()
    assert row("churned").locator("button[aria-pressed=true]").count() == 1
    row("plan").locator("select").select_option("numerical")
    expect(row("plan").locator(".cd-problem")).to_contain_text("cannot be numerical")
    assert kind("plan") == "categorical"
    row("shelf").locator("select").select_option("categorical")
    expect(row("shelf")).to_contain_text("chosen by hand")
    row("customer_id").locator("select").select_option("categorical")
    expect(row("customer_id").locator(".cd-problem")).to_contain_text("Better leave it out")
    row("customer_id").locator("select").select_option("ignored")
    v.shot("2-corrected")
    v.page.click("#to-tune")
    v.page.click("#go")
    v.page.wait_for_selector("#make", timeout=60_000)
    v.page.click("#make")
    v.compared()
    v.tab(4)
    v.shot("4-rows")
    csv, parquet = v.download("#csv"), v.download("#parquet")
    made = pd.read_csv(csv, sep=",")
    assert list(made) == list(df) and len(made) == 400
    assert set(made["shelf"]) <= set(df["shelf"]) and set(made["plan"]) <= set(df["plan"])
    assert made["age"].isna().mean() > 0.02 and made["joined"].str.fullmatch(r"\d\d/\d\d/20\d\d").all() and made["spent"].str.startswith("$").all()
    assert len(pd.read_parquet(parquet)) == 400
    v.tab(5)
    page, model, script = v.download("#report-file"), v.download("#model-file"), v.download("#script-file")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert {"config.json", "model.safetensors"} <= set(zipfile.ZipFile(model).namelist())
    assert "types={'shelf': 'categorical', 'customer_id': 'ignored'}" in script.read_text() and "my_customers.csv" in script.read_text()


def test_a_checkpoint_from_the_hub(visit, tmp_path):
    v = visit()
    customers(200).to_csv(tmp_path / "clients.csv", index=False)
    v.upload(tmp_path / "clients.csv")
    v.page.wait_for_selector("#preview table")
    v.tab(3)
    v.page.locator("#start label", has_text="Hub").click()
    name = v.page.locator("#hub textarea, #hub input")
    for wrong, says in (("me/nothing", "no repository"), ("../etc", "not the name of a Hub repository")):
        name.fill(wrong)
        name.press("Enter")
        assert says in v.error()
    name.fill("me/tables")
    name.press("Enter")
    expect(v.page.locator("#state")).to_contain_text("me/tables")
    v.shot("3-hub")
    v.fit_epochs("1")
    v.page.wait_for_selector("#make", timeout=60_000)


def test_bad_files_are_explained(visit, tmp_path):
    v = visit()
    (tmp_path / "photo.csv").write_bytes(b"\x89PNG\r\n\x1a\n" + os.urandom(3000))
    (tmp_path / "noise.bin").write_bytes(os.urandom(5000))
    (tmp_path / "<b>empty.csv").write_bytes(b"")
    for name, says in (("photo.csv", "image"), ("noise.bin", "binary"), ("<b>empty.csv", "empty")):
        v.upload(tmp_path / name)
        said = v.error()
        assert says in said and "Traceback" not in said and "Error:" not in said
    big = tmp_path / "big.csv"
    with big.open("wb") as f: f.truncate(200_000_000)
    v.upload(big)
    said = v.error()
    assert "big.csv" in said and "100" in said
    v.shot("1-errors")
    customers(50).to_csv(tmp_path / "good.csv", index=False)
    v.upload(tmp_path / "good.csv")
    v.page.wait_for_selector("#preview table")
    v.fit_epochs("-1")
    assert "epochs" in v.error()
    expect(v.page.locator("#go")).to_be_visible()
    expect(v.page.locator("#fit-progress .cd-progress")).to_have_count(0)


def test_markup_stays_text_on_a_narrow_dark_screen(visit, tmp_path, chromium):
    v, rng = visit(width=390, theme="dark"), np.random.default_rng(0)
    labels = ["<script>alert(2)</script>", "${alert(3)}", "{{value}}", "<b onmouseover=alert(4)>x</b>"]
    df = pd.DataFrame({EVIL: labels * 75, "`${alert(5)}`": rng.integers(0, 90, 300), "a 'quoted\" name": rng.choice(["x", "y"], 300)})
    file = tmp_path / f"{EVIL.replace('/', '')}.csv"
    df.to_csv(file, index=False)
    v.shot("1-first")
    v.upload(file)
    v.page.wait_for_selector("#preview table")
    assert EVIL in v.text("#preview") and all(t in v.text("#preview") for t in labels)
    v.shot("1-uploaded")
    v.tab(2)
    assert EVIL in v.text("#editor")
    v.page.locator("#editor select").first.select_option("numerical")
    expect(v.page.locator(".cd-problem")).to_contain_text(EVIL)
    v.shot("2-columns")
    v.tab(3)
    v.shot("3-form")
    v.page.click("#go")
    v.page.wait_for_selector("#make", timeout=60_000)
    v.shot("4-generate")
    v.page.locator("text=Hold some values fixed").click()
    v.page.locator("#hold-column input").click()
    v.page.locator("[role=option]").first.click()
    v.page.locator("#hold-value input").click()
    v.page.locator("[role=option]").first.click()
    v.page.click("#hold")
    expect(v.page.locator(".cd-chip")).to_have_count(1)
    assert EVIL in v.text("#chips")
    v.shot("4-held")
    v.page.locator(".cd-chip").click()
    expect(v.page.locator(".cd-chip")).to_have_count(0)
    v.page.click("#make")
    v.compared()
    v.shot("5-compare")
    for i in range(3):
        v.page.select_option("#explorer [data-part=which]", index=i)
        v.page.wait_for_timeout(200)
    assert EVIL in v.text("#real-rows") and v.page.locator("#explorer [data-part=which] option").first.text_content() == EVIL
    report = v.download("#report-file")
    other = v.context.new_page()
    other.on("dialog", lambda d: (v.wrong.append(f"dialog in the report: {d.message}"), d.dismiss()))
    other.goto(report.as_uri())
    other.wait_for_selector("#pair .main-svg")
    other.wait_for_timeout(300)
    v.wrong = [w for w in v.wrong if "file://" not in w]
    assert v.page.evaluate("document.querySelectorAll('img[src=x]').length") == 0


def test_stop_keeps_the_best_so_far(visit, tmp_path, server):
    v = visit()
    customers(3000).to_csv(tmp_path / "long.csv", index=False)
    v.upload(tmp_path / "long.csv")
    v.page.wait_for_selector("#preview table")
    v.fit_epochs("100000")
    v.page.wait_for_selector("#fit-progress .cd-bar:not(.busy)", timeout=60_000)
    v.page.click("#halt")
    v.page.wait_for_selector("#make", timeout=30_000)
    v.tab(3)
    assert "Stopped; the best so far was kept" in v.text("#fit-note")
    assert v.page.locator("#go").is_visible() and not v.page.locator("#halt").is_visible()
    v.shot("3-stopped")


def test_two_visitors_never_meet(visit, tmp_path, server):
    a, b = visit(), visit(theme="dark")
    for v, who in ((a, "visitor-alice"), (b, "visitor-bob")):
        df = customers(300).assign(plan=np.random.default_rng(0).choice([f"{who}-gold", f"{who}-silver"], 300))
        df.to_csv(tmp_path / "same_name.csv", index=False)
        v.upload(tmp_path / "same_name.csv")
        v.page.wait_for_selector("#preview table")
        v.tab(3)
    assert len(server.sessions()) >= 2
    a.page.click("#go")
    a.page.wait_for_selector("#fit-progress .cd-bar", timeout=60_000)
    b.page.click("#go")
    expect(b.page.locator("#fit-progress .cd-progress")).to_contain_text("1 training is before yours")
    b.shot("3-waiting")
    for v in (a, b):
        v.page.wait_for_selector("#make", timeout=60_000)
        v.page.click("#make")
    for v, own, other in ((a, "visitor-alice", "visitor-bob"), (b, "visitor-bob", "visitor-alice")):
        v.compared()
        html = v.page.content()
        assert f"{own}-gold" in html and other not in html
        v.tab(4)
        text = v.download("#csv").read_text()
        assert f"{own}-" in text and other not in text
    b.shot("4-dark")
    b.tab(5)
    b.shot("5-dark")


def test_closing_the_page_ends_everything(visit, tmp_path, server):
    v = visit()
    known = set(server.sessions())
    customers(3000).to_csv(tmp_path / "mine.csv", index=False)
    v.upload(tmp_path / "mine.csv")
    v.page.wait_for_selector("#preview table")
    v.tab(3)
    v.page.click("#go")
    v.page.wait_for_selector("#fit-progress .cd-bar:not(.busy)", timeout=60_000)
    (mine,) = set(server.sessions()) - known
    assert list(mine.glob("running-*"))
    v.page.close()
    server.wait_until(lambda: not mine.exists(), 10, "the end of the session")
    time.sleep(1.5)
    assert not mine.exists()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_first_click_reaches_the_comparison_in_three_minutes(chromium, shots, tmp_path):
    "With the limits everybody gets: the first click of a visitor who has read nothing. Makes the picture of the README, too."
    with run_app(tmp_path, OMP_NUM_THREADS="2") as server:
        v = Visit(chromium, server, shots, "first_click")
        began = time.monotonic()
        v.page.locator(".cd-example").first.click()
        v.compared(180)
        taken = time.monotonic() - began
        print(f"{taken:.0f} seconds from the first click to the comparison")
        v.shot("5-compare")
        if target := os.environ.get("CDMD_SCREENSHOT"):
            v.page.set_viewport_size({"width": 1280, "height": 1500})
            v.page.wait_for_timeout(1500)
            v.page.screenshot(path=target)
        v.leave()
    assert taken < 180
