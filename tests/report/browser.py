# SPDX-License-Identifier: GPL-2.0-or-later
#
# A headless Chromium, driven by ChromeDriver (W3C WebDriver over HTTP).

import json
import re
import shutil
import subprocess
import tempfile
import urllib.request

PROGRAMS = ('chromium', 'chromedriver')
# As root in a container, and without what Chromium does by itself.
FLAGS = ('--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
         '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--disable-sync',
         '--window-size=1280,1600')
# Seconds, for what hangs.
TIMEOUT = 120


def missing():
    """The first program that is not installed, or None."""
    return next((p for p in PROGRAMS if not shutil.which(p)), None)


class Browser:
    """A context manager; leaving it ends the browser."""

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory()
        self._driver = subprocess.Popen(
            ['chromedriver', '--port=0'], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        for line in self._driver.stdout:
            port = re.search(r'started successfully on port (\d+)', line)
            if port:
                break
        self._url = 'http://127.0.0.1:%s/session' % port[1]
        session = self._ask('', {'capabilities': {'alwaysMatch': {
            'browserName': 'chrome',
            'goog:chromeOptions': {
                'binary': shutil.which('chromium'),
                'args': [*FLAGS, '--user-data-dir=' + self._profile.name]},
            'goog:loggingPrefs': {'browser': 'ALL', 'performance': 'ALL'}}}})
        self._url += '/' + session['sessionId']
        return self

    def __exit__(self, *exc):
        try:
            self._ask('', method='DELETE')
        finally:
            self._driver.terminate()
            self._driver.wait()
            self._driver.stdout.close()
            self._profile.cleanup()

    def _ask(self, path, body=None, method=None):
        request = urllib.request.Request(
            self._url + path, json.dumps(body).encode() if body else None,
            {'Content-Type': 'application/json'}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=TIMEOUT) as answer:
            return json.load(answer)['value']

    def open(self, url):
        self._ask('/url', {'url': url})

    def evaluate(self, script):
        """What a piece of JavaScript returns."""
        return self._ask('/execute/sync', {'script': script, 'args': []})

    def dark(self, on):
        """Ask pages for dark colours, or for light ones."""
        self._ask('/goog/cdp/execute', {
            'cmd': 'Emulation.setEmulatedMedia',
            'params': {'features': [{'name': 'prefers-color-scheme',
                                     'value': 'dark' if on else 'light'}]}})

    def console(self):
        """Messages on the console since the last call."""
        return [entry['message']
                for entry in self._ask('/se/log', {'type': 'browser'})]

    def requests(self, url):
        """URLs that the page at url has asked for since the last call, itself
        among them.  Chromium's own pages are loaded meanwhile.
        """
        messages = [json.loads(entry['message'])['message'] for entry in
                    self._ask('/se/log', {'type': 'performance'})]
        return [m['params']['request']['url'] for m in messages
                if m['method'] == 'Network.requestWillBeSent' and
                m['params']['documentURL'] == url]
