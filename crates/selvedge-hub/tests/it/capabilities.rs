//! Workers announce what they can run, and are offered nothing else; what they decline goes to other workers.

use selvedge_protocol::{Hello, Scope, TaskRelease, WorkerCapabilities, WorkerMessage};
use serde_json::json;

use crate::harness::{TestDatabase, TestHub, TestWorker, entry, hello};

fn able(worker: &str, agents: &[&str], folders: &[&str]) -> Hello {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    Hello {
        capabilities: Some(WorkerCapabilities {
            agents: words(agents),
            folders: words(folders),
            ..WorkerCapabilities::default()
        }),
        slots: 9,
        ..hello(worker)
    }
}

pub(crate) async fn worker_is_offered_only_what_it_can_run(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let first = able("first", &["claude", "shell"], &["/srv/shop"]);
    let (mut first, _) = TestWorker::connect(&hub, &token, &first).await;
    let mut broken = able("broken", &["claude", "codex"], &["/srv"]);
    let own = broken.capabilities.as_mut().unwrap();
    own.problem = Some(format!("no sandbox\n\n{}", "x".repeat(5_000)));
    own.folders.push("/".repeat(5_000));
    let (_broken, _) = TestWorker::connect(&hub, &token, &broken).await;
    let unplaceable = async |task: &str| {
        let path = format!("/api/v1/tasks/{task}");
        hub.get(&path, &submit).await.json()["unplaceable"].clone()
    };
    // The tasks that it cannot run come first.
    let other_agent = json!({"description": "x", "agent": "codex", "priority": 9});
    let other_agent = hub.submit(&submit, &other_agent).await;
    assert_eq!(
        unplaceable(&other_agent).await,
        "no worker can run this: needs agent `codex`; workers offer claude, shell"
    );
    let other_folder = json!({"description": "x", "workspace": "/srv/shop2", "priority": 9});
    let other_folder = hub.submit(&submit, &other_folder).await;
    assert_eq!(
        unplaceable(&other_folder).await,
        "no worker can run this: needs the folder `/srv/shop2`; workers allow /srv/shop (`--allow-path`)"
    );
    let mut own = Vec::new();
    for task in [
        json!({"description": "x", "agent": "claude", "workspace": "/srv/shop/api"}),
        json!({"description": "x", "repository": "https://git.example/shop", "workspace": "api"}),
        json!({"description": "x", "repository": "file:///srv/shop"}),
        json!({"description": "", "command": "make", "workspace": "/srv/shop"}),
    ] {
        own.push(hub.submit(&submit, &task).await);
    }
    let mut offered = Vec::new();
    for _ in 0..4 {
        offered.push(first.next_assignment().await.lease.task_id.to_string());
    }
    assert_eq!(offered, own);
    // A worker of an earlier release announces nothing.
    let mut earlier = hello("earlier");
    earlier.slots = 2;
    let (mut earlier, _) = TestWorker::connect(&hub, &token, &earlier).await;
    for task in [other_agent, other_folder] {
        assert_eq!(
            earlier.next_assignment().await.lease.task_id.to_string(),
            task
        );
    }
    let workers = hub.get("/api/v1/workers", &submit).await.json();
    // A hub keeps a limited part of what a worker announces.
    let row = &workers["workers"][0]["capabilities"];
    let problem = row["problem"].as_str().unwrap();
    assert!(problem.starts_with("no sandbox; xxx"), "{problem}");
    assert_eq!(problem.len(), 1_000);
    assert_eq!(row["folders"], json!(["/srv"]));
    let row = &workers["workers"][2];
    assert_eq!(row["capabilities"]["agents"], json!(["claude", "shell"]));
}

pub(crate) async fn declined_task_goes_to_another_worker_uncharged(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut first, _) = TestWorker::connect(&hub, &token, &hello("first")).await;
    let task = hub.submit(&submit, &json!({"description": "x"})).await;
    let lease = first.next_assignment().await.lease;
    let accept = WorkerMessage::TaskAccept {
        lease: lease.clone(),
    };
    first.send_acknowledged(&accept, 0).await;
    // For a hub that does not know of `declined`, it is a failure, or it would be offered again at once.
    let release = WorkerMessage::TaskRelease {
        entry: entry(&lease, 1),
        effect: TaskRelease {
            reason: "agent `codex`: program `codex` not found\nhint: install it".to_owned(),
            charged: true,
            declined: true,
        },
    };
    first.send_acknowledged(&release, 1).await;
    let row = hub.wait_for_state(&task, &submit, &["queued"]).await;
    let why = "agent `codex`: program `codex` not found; hint: install it";
    assert_eq!(
        row["reason"],
        format!("worker `first`: declined the task: {why}")
    );
    assert_eq!(
        row["unplaceable"],
        format!("no worker can run this; worker `first` declined it: {why}")
    );
    let (mut second, _) = TestWorker::connect(&hub, &token, &hello("second")).await;
    let assign = second.next_assignment().await;
    assert_eq!(assign.lease.task_id.to_string(), task);
    assert_eq!((assign.infra_losses, assign.last_attempt_number), (0, 0));
}
