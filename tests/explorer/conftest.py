"""Open reports in headless Chromium, once for all tests."""

import shutil

import pytest

OPEN = """async () => {
    window.engine = await openModel(JSON.parse(document.getElementById("payload").textContent));
}"""


@pytest.fixture(scope="session")
def chromium():
    """Start one browser for the whole session."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def open_report(chromium, tmp_path_factory):
    """Return a function that opens a report; its page must not complain, and must not load anything.

    The page has the model as ``engine``. Reports that come with a name are opened once. A page that is not ``watched``
    may complain.
    """
    folder, kept, complaints = tmp_path_factory.mktemp("reports"), {}, []

    def open_page(make_report, name=None, *, watched=True):
        if name in kept:
            return kept[name]
        page = chromium.new_page()
        file = make_report().save(folder / f"report{len(list(folder.iterdir()))}.html")
        own = (file.as_uri(), "blob:", "data:")
        if watched:
            page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda request: request.url.startswith(own) or complaints.append(request.url))
        page.goto(file.as_uri())
        page.evaluate(OPEN)
        assert not complaints
        if name is not None:
            kept[name] = page
        return page

    yield open_page
    assert not complaints
