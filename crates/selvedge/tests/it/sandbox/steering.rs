//! What an agent leaves in the repository's own folder is not carried out by the person's git.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::on_all;
use super::scene::Scene;

fn a_hook(scene: &Scene) {
    let result = scene.work("printf '#!/bin/sh\\ntouch ../evil\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; echo y > done.txt", &[]);
    scene.env.git(["checkout", "-q", "-b", "later"]);
    assert!(!scene.env.root().join("evil").exists());
    assert_eq!(scene.env.read("done.txt"), "y\n");
    assert_eq!(result["outcome"], "verified");
    let story = scene
        .env
        .selvedge(["show", "--format", "json"])
        .run()
        .json();
    let put_back = &story["attempts"][0]["session"]["sandbox"]["put_back"];
    assert_eq!(put_back[0], ".git/hooks/post-checkout", "{story}");
}

fn a_key_of_the_configuration(scene: &Scene) {
    let evil = scene.env.root().join("evil");
    let hook = scene.env.root().join("monitor.sh");
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", evil.display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    scene.work(&format!("git config core.fsmonitor {0}; git config core.hooksPath hooks; git config alias.st '!{0}'; git config user.name Agent", hook.display()), &[]);
    scene.env.git(["status"]);
    assert!(!evil.exists());
}

fn by_a_check(scene: &Scene) {
    scene.attempt("printf '#!/bin/sh\\ntouch ../evil\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout");
    scene.env.git(["checkout", "-q", "-b", "later"]);
    assert!(!scene.env.root().join("evil").exists());
}

on_all!(a_hook, a_key_of_the_configuration, by_a_check);
