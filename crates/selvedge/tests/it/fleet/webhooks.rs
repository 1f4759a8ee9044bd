//! Webhooks on the command line, with a hub that is killed while it sends one.

use selvedge_testkit::HttpReceiver;

use super::fixture::HubFixture;

#[test]
fn webhook_is_delivered_by_a_restarted_hub() {
    let receiver = HttpReceiver::start();
    let options = ["--webhooks-allow-private", "--webhook-retry", "20"];
    let mut fleet = HubFixture::with_hub_options("true", &options);
    let url = format!("{}/hook", receiver.url());
    let added = fleet.run(&["webhooks", "add", "ci", &url, "--format", "json"]);
    added.assert_code(0);
    let added = added.json();
    assert!(added["secret"].as_str().unwrap().starts_with("whsec_"));
    let webhook = added["id"].as_str().unwrap().to_owned();
    let task = fleet.submit("true", &["--labels", "nowhere"]);
    fleet.run(&["cancel", &task]).assert_code(0);

    let first = receiver.next_request();
    let id = first.header("webhook-id").to_owned();
    first.respond(500);
    let unanswered = receiver.next_request();
    let hub = fleet.hub.take().unwrap();
    hub.kill();
    hub.wait();
    fleet.start_hub();
    let last = receiver.next_request();
    assert_eq!(unanswered.header("webhook-id"), id);
    assert_eq!(last.header("webhook-id"), id);
    assert_eq!(last.body, unanswered.body);
    last.respond(200);

    let log = ["webhooks", "deliveries", &webhook];
    loop {
        let deliveries = fleet.run(&[&log[..], &["--format", "json"]].concat());
        if deliveries.json()[0]["state"] == "delivered" {
            break;
        }
    }
    let shown = fleet.run(&log);
    shown.assert_code(0);
    let line = shown.stdout.trim();
    assert!(line.starts_with(&id) && line.contains(&task), "{line}");
    assert!(
        line.ends_with("delivered  2 requests, status 200"),
        "{line}"
    );

    let listed = fleet.run(&["webhooks"]);
    assert!(listed.stdout.contains(&url), "{}", listed.stdout);
    fleet.run(&["webhooks", "remove", &webhook]).assert_code(0);
    assert_eq!(fleet.run(&["webhooks"]).stdout, "");
}
