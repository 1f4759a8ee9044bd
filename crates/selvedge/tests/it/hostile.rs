//! Malicious repositories, through the whole program: each way in which a repository can make git execute
//! something is set up as a trap, shown to spring under plain git, and then exposed to every command that reads
//! trees. No trap springs, and the user's repository stays byte for byte as it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selvedge_testkit::TestEnv;

use crate::fixtures::{agent, env_with_repo, make_executable};

/// A way to make git execute something, and the git commands that trigger it.
struct Way {
    set: fn(&TestEnv, &str),
    springs: &'static [&'static [&'static str]],
}

/// A repository with one trap; a trap that springs creates a file.
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

    /// Runs plain git and ignores the result.
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
        // The file does not exist unless setting up the trap has sprung it.
        let _ = std::fs::remove_file(&self.sprung);
    }

    /// Runs every command that reads trees: two attempts with a snapshot between them, diffs, restores,
    /// verification, and a check of the repository's state.
    fn run_all_commands(&self) {
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

/// Asserts that plain git springs the trap, and that no command of Selvedge does.
#[track_caller]
fn assert_trap_is_not_sprung(way: &Way) {
    let control = Trap::set(way);
    control.env.write("code.txt", "changed\n");
    for args in way.springs {
        control.git(args);
    }
    assert!(control.has_sprung(), "plain git sprang nothing");
    let trap = Trap::set(way);
    trap.run_all_commands();
    assert!(!trap.has_sprung());
}

#[test]
fn git_fsmonitor_is_not_executed() {
    assert_trap_is_not_sprung(&Way {
        set: |env, trap| drop(env.git(["config", "core.fsmonitor", trap])),
        springs: &[&["status"]],
    });
}

#[test]
fn git_hooks_are_not_executed() {
    assert_trap_is_not_sprung(&Way {
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
fn git_filters_are_not_executed() {
    assert_trap_is_not_sprung(&Way {
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
fn git_drivers_of_attributes_are_not_executed() {
    assert_trap_is_not_sprung(&Way {
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
            let info = env.work_dir().join(".git/info");
            std::fs::create_dir_all(&info).unwrap();
            std::fs::write(info.join("attributes"), "* diff=trap\n").unwrap();
        },
        springs: &[&["diff"]],
    });
}

#[test]
fn git_bare_repository_inside_is_not_entered() {
    assert_trap_is_not_sprung(&Way {
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

/// Returns the contents and modes of everything below a folder.
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
fn git_folder_of_user_stays_byte_for_byte() {
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
    trap.run_all_commands();
    let after = picture(&git);
    let paths = before.keys().chain(after.keys());
    let differing: Vec<_> = paths
        .filter(|it| before.get(*it) != after.get(*it))
        .collect();
    assert_eq!(differing, Vec::<&PathBuf>::new());
}
