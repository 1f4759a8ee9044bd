//! Authentication, and the security headers of responses.

use selvedge_testkit::Browser;

use crate::fixtures::{env_with_repo, env_with_runs, newest, serve};

/// Sends a request; returns the status and the complete response.
pub(crate) fn ask(origin: &str, request: &str, headers: &[&str], body: &str) -> (u16, String) {
    use std::io::{Read, Write};
    let host = origin.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let mut head = format!(
        "{request} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    if !headers.iter().any(|header| header.starts_with("Host:")) {
        head += &format!("Host: {host}\r\n");
    }
    for header in headers {
        head += &format!("{header}\r\n");
    }
    stream
        .write_all(format!("{head}\r\n{body}").as_bytes())
        .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (answer[9..12].parse().unwrap(), answer)
}

#[test]
fn login_is_required_and_forged_forms_are_rejected() {
    let env = env_with_runs();
    let id = newest(&env);
    let ui = serve(&env);
    let origin = ui.origin.as_str();
    let from = format!("Origin: {origin}");
    for path in [
        "/",
        "/stats",
        "/fleet",
        "/events",
        &format!("/tasks/{id}"),
        &format!("/tasks/{id}/download/json"),
    ] {
        let (status, answer) = ask(origin, &format!("GET {path}"), &[], "");
        assert_eq!(status, 401, "{path}");
        assert!(!answer.contains("duration"), "{path}");
    }
    assert_eq!(ask(origin, "GET /", &["Host: evil.example"], "").0, 403);
    let browser = ["Host: evil.example", "Accept: text/html"];
    let (status, page) = ask(origin, "GET /", &browser, "");
    assert_eq!(status, 403);
    assert!(
        page.contains("unknown host name") && page.contains("</html>"),
        "{page}"
    );
    assert_eq!(ask(origin, "GET /login?token=0", &[], "").0, 401);

    let path = ui.link.strip_prefix(origin).unwrap();
    // A preview of the link does not use it up.
    assert_eq!(ask(origin, &format!("HEAD {path}"), &[], "").0, 200);
    let (status, entered) = ask(origin, &format!("GET {path}"), &[], "");
    assert_eq!(status, 200);
    let cookie = entered
        .lines()
        .find(|line| line.starts_with("set-cookie:"))
        .unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    let cookie = format!(
        "Cookie: {}",
        cookie["set-cookie: ".len()..].split(';').next().unwrap()
    );
    assert_eq!(
        ask(origin, &format!("GET {path}"), &[], "").0,
        401,
        "the link works once"
    );
    ui.program.wait_for_stdout("}\n{");

    let (status, page) = ask(origin, "GET /", &[&cookie], "");
    assert_eq!(status, 200);
    let policy = page
        .lines()
        .find(|line| line.starts_with("content-security-policy:"))
        .unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"));
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(page.contains("x-content-type-options: nosniff"));

    let form = "Content-Type: application/x-www-form-urlencoded";
    let review = format!("POST /tasks/{id}/review");
    let (status, _) = ask(origin, &review, &[&cookie, form], "decision=accept");
    assert_eq!(status, 403, "without an origin");
    let (status, _) = ask(
        origin,
        &review,
        &[&cookie, form, "Origin: http://evil.example"],
        "decision=accept",
    );
    assert_eq!(status, 403, "from another site");
    let (status, _) = ask(
        origin,
        &review,
        &[&cookie, form, &from],
        "decision=accept&csrf=0",
    );
    assert_eq!(status, 409, "without the form's own token");
    let (status, _) = ask(origin, &review, &[form, &from], "decision=accept");
    assert_eq!(status, 401, "by a stranger");
}

#[test]
fn login_by_link_and_logout() {
    let env = env_with_repo();
    let ui = serve(&env);
    let browser = Browser::start(&env);
    browser.open_url(&ui.origin);
    browser.wait_for_text("h1", "terminal");
    browser.open_url(&ui.link);
    browser.wait_for_text("h1", "Tasks");
    assert!(!browser.address().contains("token"));
    browser.wait_for_text("#nothing", "No tasks yet");
    let cookies = browser.cookies();
    assert_eq!(cookies.len(), 1);
    assert_eq!(
        (&cookies[0]["httpOnly"], &cookies[0]["sameSite"]),
        (&true.into(), &"Strict".into())
    );
    browser.click(".visitor button");
    browser.wait_for_text("h1", "terminal");
    browser.open_url(&ui.origin);
    browser.wait_for_text("h1", "terminal");
}
