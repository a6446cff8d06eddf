"""Open reports in headless Chromium, once for all tests."""

import shutil

import pytest


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


@pytest.fixture
def open_report(chromium, tmp_path):
    """Return a function that opens a report, and returns its page; the page must not complain or load anything."""
    pages, complaints = [], []

    def open_page(report):
        page = chromium.new_page()
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        file = report.save(tmp_path / f"report{len(pages)}.html")
        page.on(
            "request",
            lambda r: complaints.append(r.url) if not r.url.startswith((file.as_uri(), "blob:")) else None,
        )
        page.goto(file.as_uri())
        page.evaluate(
            "async () => { window.engine = await openModel(JSON.parse(document.getElementById('payload').textContent)) }"
        )
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not complaints
