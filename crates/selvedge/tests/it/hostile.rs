//! Repositories that mean harm, through the whole program: each way in which a repository may have git
//! execute something is set as a trap, shown to spring under plain git, and then gone through by every
//! command that looks at trees. Nothing springs, and the person's repository stays as it was, byte for
//! byte.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selvedge_testkit::TestEnv;

use crate::fixtures::{agent, env_with_repo, make_executable};

/// One way in, and the commands of plain git that go that way.
struct Way {
    set: fn(&TestEnv, &str),
    springs: &'static [&'static [&'static str]],
}

/// A repository with one trap set: what springs leaves a file.
struct Trap {
    env: TestEnv,
    sprung: PathBuf,
}

impl Trap {
    fn set(way: &Way) -> Self {
        let env = env_with_repo();
        env.write("code.txt", "1\n");
        env.write("selvedge.toml", "[[checks]]\nrun = \"test -s out\"\n");
        env.commit("Code");
        let sprung = env.root().join("sprung");
        let script = env.root().join("trap.sh");
        std::fs::write(
            &script,
            format!("#!/bin/sh\n: > {}\ncat\n", sprung.display()),
        )
        .unwrap();
        make_executable(&script);
        (way.set)(&env, script.to_str().unwrap());
        let trap = Self { env, sprung };
        trap.disarm();
        trap
    }

    /// Plain git, whatever it comes to; nothing of it is kept.
    fn git(&self, args: &[&str]) {
        let mut git = std::process::Command::new("git");
        git.args(args)
            .current_dir(self.env.work_dir())
            .env("HOME", self.env.root())
            .stdin(std::process::Stdio::null());
        git.output().unwrap();
    }

    fn has_sprung(&self) -> bool {
        self.sprung.exists()
    }

    fn disarm(&self) {
        // Not there where the setting up sprang nothing.
        let _ = std::fs::remove_file(&self.sprung);
    }

    /// Every command that looks at trees: two attempts with what lies between them, what they
    /// changed, trees put back, and the repository's own state.
    fn go_through_everything(&self) {
        let env = &self.env;
        let work = "echo $SELVEDGE_RUN_NUMBER >> code.txt; echo new > $SELVEDGE_RUN_NUMBER.txt; \
                    case \"$prompt\" in *RETRY*) echo good > out;; esac";
        let run = env.selvedge(["run", "x", "--agent-cmd", &agent(env, work)]);
        run.run().assert_code(0);
        env.selvedge(["show", "--diff"]).run().assert_code(0);
        for tree in [
            &["--original"][..],
            &["--attempt", "1"],
            &["--attempt", "2"],
        ] {
            let restore = ["restore"].into_iter().chain(tree.iter().copied());
            env.selvedge(restore).run().assert_code(0);
        }
        let verify = env.selvedge(["verify", "--check", "test -s out"]);
        verify.run().assert_code(0);
        env.write("selvedge.toml", "[[checks]]\ntype = \"git_clean\"\n");
        env.selvedge(["verify"]).run().assert_code(1);
    }
}

/// The trap springs under plain git, and under nothing of ours.
#[track_caller]
fn springs_nothing(way: &Way) {
    let control = Trap::set(way);
    control.env.write("code.txt", "changed\n");
    for args in way.springs {
        control.git(args);
    }
    assert!(control.has_sprung(), "plain git sprang nothing");
    let trap = Trap::set(way);
    trap.go_through_everything();
    assert!(!trap.has_sprung());
}

#[test]
fn a_file_system_monitor_is_not_executed() {
    springs_nothing(&Way {
        set: |env, trap| drop(env.git(["config", "core.fsmonitor", trap])),
        springs: &[&["status"]],
    });
}

#[test]
fn hooks_are_not_executed() {
    springs_nothing(&Way {
        set: |env, trap| {
            let hooks = [
                "post-index-change",
                "pre-commit",
                "post-checkout",
                "reference-transaction",
            ];
            for hook in hooks {
                let hook = env.work_dir().join(".git/hooks").join(hook);
                std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
                std::fs::write(&hook, format!("#!/bin/sh\n{trap}\n")).unwrap();
                make_executable(&hook);
            }
        },
        springs: &[&["add", "--all"], &["checkout", "-q", "-b", "other"]],
    });
}

#[test]
fn filters_are_not_executed() {
    springs_nothing(&Way {
        set: |env, trap| {
            for filter in ["clean", "smudge", "process"] {
                env.git(["config", &format!("filter.trap.{filter}"), trap]);
            }
            env.git(["config", "filter.trap.required", "true"]);
            env.write(".gitattributes", "* filter=trap\n");
        },
        springs: &[&["add", "--all"]],
    });
}

#[test]
fn attributes_execute_no_driver() {
    springs_nothing(&Way {
        set: |env, trap| {
            for driver in [
                "diff.trap.command",
                "diff.trap.textconv",
                "merge.trap.driver",
            ] {
                env.git(["config", driver, trap]);
            }
            env.git(["config", "diff.external", trap]);
            env.write(".gitattributes", "* diff=trap merge=trap\n");
            let own = env.work_dir().join(".git/info");
            std::fs::create_dir_all(&own).unwrap();
            std::fs::write(own.join("attributes"), "* diff=trap\n").unwrap();
        },
        springs: &[&["diff"]],
    });
}

#[test]
fn a_bare_repository_inside_is_not_entered() {
    springs_nothing(&Way {
        set: |env, trap| {
            let inside = env.work_dir().join("inside");
            let inside = inside.to_str().unwrap();
            env.git(["init", "--quiet", "--bare", inside]);
            env.git(["-C", inside, "config", "core.bare", "false"]);
            env.git(["-C", inside, "config", "core.worktree", ".."]);
            env.git(["-C", inside, "config", "core.fsmonitor", trap]);
        },
        springs: &[&["-C", "inside", "status"]],
    });
}

/// Everything below a folder: bytes, kind and permissions.
fn picture(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt;
    let mut picture = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let data = path.symlink_metadata().unwrap();
            let bytes = if data.is_file() {
                std::fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            if data.is_dir() {
                folders.push(path.clone());
            }
            picture.insert(path, (data.permissions().mode(), bytes));
        }
    }
    picture
}

#[test]
fn index_head_refs_stash_and_hooks_stay_byte_for_byte() {
    let nothing = Way {
        set: |env, _| {
            env.git(["branch", "other"]);
            env.git(["tag", "v1"]);
            env.write("code.txt", "stashed\n");
            env.git(["stash"]);
            env.write("staged.txt", "staged\n");
            env.git(["add", "staged.txt"]);
            env.write("code.txt", "changed, not staged\n");
        },
        springs: &[],
    };
    let trap = Trap::set(&nothing);
    let git = trap.env.work_dir().join(".git");
    let before = picture(&git);
    assert!(before.keys().any(|path| path.ends_with("refs/stash")));
    trap.go_through_everything();
    let after = picture(&git);
    let paths = before.keys().chain(after.keys());
    let differing: Vec<_> = paths
        .filter(|it| before.get(*it) != after.get(*it))
        .collect();
    assert_eq!(differing, Vec::<&PathBuf>::new());
}
