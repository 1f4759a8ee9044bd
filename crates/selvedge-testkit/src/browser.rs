//! A real browser for the tests of the dashboard: Debian's Chromium, driven by chromedriver over
//! WebDriver. Both run in the test's own environment. Offers only what those tests need.
//!
//! Chromium's headless shell is the same engine without the processes and windows of a desktop browser, which take most
//! of the time; it is used where it is installed.

mod keys;
mod webdriver;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::webdriver::WebDriverSession;
use crate::polling::Polling;
use crate::test_env::{SpawnedProgram, TestEnv};
use crate::watched_value::WAIT_TIMEOUT;

pub use keys::BrowserKey;

/// A browser with one window. It ends with the environment.
#[derive(Debug)]
pub struct Browser {
    wire: WebDriverSession,
    _driver: SpawnedProgram,
}

/// A tab, by its WebDriver handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserTab(String);

impl Browser {
    /// Starts a browser. Fails the test if chromium or chromedriver is not installed; never skips it.
    #[track_caller]
    pub fn start(env: &TestEnv) -> Self {
        let profile = tempfile::Builder::new()
            .prefix("chromium-")
            .tempdir_in(env.root());
        let profile = profile.expect("a profile").keep();
        let (driver, port) = start_driver(env);
        let wire = WebDriverSession::connect(port, &capabilities(&profile));
        Self {
            wire,
            _driver: driver,
        }
    }

    /// Opens an address and waits until the page and its scripts are loaded.
    #[track_caller]
    pub fn open_url(&self, address: &str) {
        self.wire.post("url", &json!({ "url": address }));
    }

    /// The address of the current page.
    pub fn address(&self) -> String {
        value_text(&self.wire.get("url"))
    }

    /// Runs a function body on the page, with these arguments, and returns its result.
    #[track_caller]
    pub fn run_script(&self, body: &str, arguments: &[Value]) -> Value {
        let call = json!({ "script": body, "args": arguments });
        self.wire.post("execute/sync", &call)
    }

    /// Waits until a JavaScript expression is true on the page.
    #[track_caller]
    pub fn wait_until(&self, expression: &str) {
        let mut polling = Polling::new(WAIT_TIMEOUT);
        let body = format!("return Boolean({expression})");
        while self
            .wire
            .try_post("execute/sync", &json!({ "script": body, "args": [] }))
            != Ok(Value::Bool(true))
        {
            assert!(
                polling.pause(),
                "never so: {expression}\non {}:\n{}",
                self.address(),
                self.text("body")
            );
        }
    }

    /// Waits until an element's text contains `wanted`.
    #[track_caller]
    pub fn wait_for_text(&self, selector: &str, wanted: &str) {
        let (selector, wanted) = (json!(selector), json!(wanted));
        self.wait_until(&format!(
            "document.querySelector({selector})?.innerText.includes({wanted})"
        ));
    }

    /// The visible text of an element; empty if there is no such element.
    pub fn text(&self, selector: &str) -> String {
        let body = "return document.querySelector(arguments[0])?.innerText ?? ''";
        value_text(&self.run_script(body, &[json!(selector)]))
    }

    /// Counts the elements that match a selector.
    pub fn count_elements(&self, selector: &str) -> u64 {
        let body = "return document.querySelectorAll(arguments[0]).length";
        let count = self.run_script(body, &[json!(selector)]);
        count.as_u64().expect("a number")
    }

    /// Clicks an element; fails if a user could not click it.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let element = self.find_element(selector);
        self.wire
            .post(&format!("element/{element}/click"), &json!({}));
    }

    /// Types into an element.
    #[track_caller]
    pub fn type_into(&self, selector: &str, what: &str) {
        let element = self.find_element(selector);
        let typed = json!({ "text": what });
        self.wire.post(&format!("element/{element}/value"), &typed);
    }

    /// Presses keys one after the other; they go to the focused element.
    pub fn press_keys(&self, keys: &[BrowserKey]) {
        let strokes = keys.iter().flat_map(|key| {
            let value = key.value();
            ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": value }))
        });
        let strokes: Vec<Value> = strokes.collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.wire.post("actions", &json!({ "actions": [keyboard] }));
    }

    /// Takes a screenshot of the window or of the whole page, as PNG.
    pub fn screenshot(&self, whole_page: bool) -> Vec<u8> {
        let shown = json!({ "format": "png", "captureBeyondViewport": whole_page });
        let shot = self.send_devtools_command("Page.captureScreenshot", &shown);
        webdriver::decode_base64(shot["data"].as_str().expect("a picture"))
    }

    /// Sets whether the user prefers a dark color scheme.
    pub fn set_dark_mode(&self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let feature = json!({ "name": "prefers-color-scheme", "value": value });
        self.send_devtools_command(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [feature] }),
        );
    }

    /// Sets whether pages may run scripts; it applies to pages that are opened later. The test's own scripts always run.
    pub fn allow_scripts(&self, allowed: bool) {
        self.send_devtools_command(
            "Emulation.setScriptExecutionDisabled",
            &json!({ "value": !allowed }),
        );
    }

    /// Sets the size of the page, and whether the device is a phone.
    pub fn resize(&self, width: u32, height: u32, phone: bool) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone,
        });
        self.send_devtools_command("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Returns the URLs of all requests that the browser sent since the last call.
    pub fn take_requested_urls(&self) -> Vec<String> {
        let log = self.wire.post("se/log", &json!({ "type": "performance" }));
        let entries = log.as_array().cloned().unwrap_or_default();
        let requests = entries.iter().filter_map(|entry| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &message["message"];
            let sent = message["method"] == "Network.requestWillBeSent";
            sent.then(|| value_text(&message["params"]["request"]["url"]))
        });
        requests.collect()
    }

    /// Returns the messages in the browser's console since the last call.
    pub fn take_page_errors(&self) -> Vec<String> {
        let log = self.wire.post("se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().cloned().unwrap_or_default();
        entries
            .iter()
            .map(|entry| value_text(&entry["message"]))
            .collect()
    }

    /// Returns the cookies of the current page.
    pub fn cookies(&self) -> Vec<Value> {
        self.wire
            .get("cookie")
            .as_array()
            .cloned()
            .unwrap_or_default()
    }

    /// Opens another tab and switches to it.
    pub fn open_tab(&self) -> BrowserTab {
        let new = self.wire.post("window/new", &json!({ "type": "tab" }));
        let tab = BrowserTab(value_text(&new["handle"]));
        self.switch_to_tab(&tab);
        tab
    }

    /// Returns the current tab.
    pub fn current_tab(&self) -> BrowserTab {
        BrowserTab(value_text(&self.wire.get("window")))
    }

    /// Switches to a tab.
    pub fn switch_to_tab(&self, tab: &BrowserTab) {
        self.wire.post("window", &json!({ "handle": tab.0 }));
    }

    fn send_devtools_command(&self, command: &str, parameters: &Value) -> Value {
        let call = json!({ "cmd": command, "params": parameters });
        self.wire.post("goog/cdp/execute", &call)
    }

    #[track_caller]
    fn find_element(&self, selector: &str) -> String {
        let find = json!({ "using": "css selector", "value": selector });
        let found = self.wire.post("element", &find);
        let named = found.as_object().and_then(|it| it.values().next());
        value_text(named.expect("an element"))
    }
}

/// Starts chromedriver; returns it and its port. Retries, because it picks a free port on IPv6 and
/// exits if that port is taken on IPv4.
#[track_caller]
fn start_driver(env: &TestEnv) -> (SpawnedProgram, u16) {
    let announcement = "was started successfully on port ";
    for _ in 0..10 {
        let driver = env
            .command("chromedriver")
            .args(["--port=0", "--log-level=SEVERE"])
            .timeout(WAIT_TIMEOUT)
            .spawn();
        if !driver.try_wait_for_stdout(announcement) {
            continue;
        }
        driver.wait_for_stdout(".\n");
        let stdout = driver.stdout();
        let port = stdout.split(announcement).nth(1);
        let port = port.and_then(|rest| rest.split('.').next());
        let port = port.and_then(|port| port.parse().ok()).expect("a port");
        return (driver, port);
    }
    panic!("chromedriver finds no port")
}

fn value_text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn capabilities(profile: &Path) -> Value {
    let profile = format!("--user-data-dir={}", profile.display());
    let arguments = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--disable-extensions",
        // Without a graphics card, an endless animation takes a whole core.
        "--force-prefers-reduced-motion",
        "--window-size=1280,900",
        profile.as_str(),
    ];
    let mut capabilities = json!({ "capabilities": { "alwaysMatch": {
        "browserName": "chrome",
        "goog:chromeOptions": { "args": arguments },
        "goog:loggingPrefs": { "performance": "ALL", "browser": "ALL" },
        "unhandledPromptBehavior": "ignore",
    } } });
    if let Some(shell) = find_in_path("chromium-headless-shell") {
        let wanted = &mut capabilities["capabilities"]["alwaysMatch"];
        wanted["browserName"] = "chrome-headless-shell".into();
        wanted["goog:chromeOptions"]["binary"] = shell.display().to_string().into();
    }
    capabilities
}

fn find_in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}
