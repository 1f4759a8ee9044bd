//! Agents and checks cannot change the user's git directories: the user's git executes nothing that a session leaves in
//! them, or in those of submodules, nested repositories and other work trees. An agent's commits reach the user's
//! repository.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fixture::SandboxFixture;
use super::on_all;
use crate::fixtures::make_executable;

/// Prepares a repository with everything that git obeys: submodules (one with a deep name), a nested repository that is
/// ignored, another work tree, a remote, a folder of hooks and an included file in the work tree.
fn create_full_repository(fixture: &SandboxFixture) {
    let script = r#"
set -e
export GIT_AUTHOR_NAME=u GIT_AUTHOR_EMAIL=u@x GIT_COMMITTER_NAME=u GIT_COMMITTER_EMAIL=u@x
git init -q "$ROOT/lib"; git -C "$ROOT/lib" commit -q --allow-empty -m lib
git init -q --bare "$ROOT/remote.git"
git -c protocol.file.allow=always submodule --quiet add "$ROOT/lib" sub
git -c protocol.file.allow=always submodule --quiet add --name a/b/c/d/e/f/g "$ROOT/lib" deep
git init -q nested; git -C nested commit -q --allow-empty -m nested; echo nested/ >> .git/info/exclude
mkdir .githooks tools; printf '#!/bin/sh\nexit 0\n' > .githooks/pre-commit; chmod +x .githooks/pre-commit
printf '[user]\n\tname = u\n\temail = u@x\n' > tools/included
cp .githooks/pre-commit tools/hook.sh
git add .; git commit -qm all
git remote add origin "$ROOT/remote.git"; git push -q -u origin HEAD
git config extensions.worktreeConfig true
git config core.hooksPath .githooks; git config --add include.path ../tools/included
git config --add include.path ../later/included
mkdir -p .git/hooks; ln -sf ../../tools/hook.sh .git/hooks/post-commit
git worktree add -q "$ROOT/other"
"#;
    run_script(fixture, script);
}

/// Runs a script as the user in the work tree, without a sandbox.
#[track_caller]
fn run_script(fixture: &SandboxFixture, script: &str) -> String {
    let env = &fixture.env;
    let run = env
        .command("sh")
        .args(["-c", script])
        .env("ROOT", env.root())
        .env("GIT_CEILING_DIRECTORIES", env.root());
    run.run().assert_success().stdout.clone()
}

/// All known ways to make the user's git run a program, which creates `$E-NAME` as a sign.
const ATTACKS: &str = r#"
plant() { mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\ntouch %s-%s\n' "$E" "$2" > "$1"; chmod 755 "$1"; }
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x
# Hooks: above 1 MiB, unreadable, in folders that can no longer be written.
plant .git/hooks/pre-commit big-hook; head -c 2000000 /dev/zero | tr '\0' '#' >> .git/hooks/pre-commit
plant .git/hooks/prepare-commit-msg unreadable-hook; chmod 111 .git/hooks/prepare-commit-msg
plant .git/hooks/post-checkout hook
git config --unset core.hooksPath
# Settings: of the repository, of other work trees, of remotes.
git config core.fsmonitor "touch $E-fsmonitor; false"; git config core.pager "touch $E-pager"
git config --file .git/config.worktree core.fsmonitor "touch $E-worktree-config; false"
git config --file .git/worktrees/other/config.worktree core.fsmonitor "touch $E-other-config; false"
cp -r .git planted-common; git config --file planted-common/config core.fsmonitor "touch $E-commondir; false"
echo "$PWD/planted-common" > .git/worktrees/other/commondir
git init -q --bare planted.git; plant planted.git/hooks/pre-receive remote
git config remote.origin.pushurl "$PWD/planted.git"; git config remote.origin.url "$PWD/planted.git"
git config branch.main.remote ./planted.git; git config branch.master.remote ./planted.git
# Submodules: pointer, settings, deep name.
git -C sub config core.fsmonitor "touch $E-module; false"
git -C deep config core.fsmonitor "touch $E-deep-module; false"
plant .git/modules/a/b/c/d/e/f/g/hooks/pre-commit deep-module-hook
cp -r .git/modules/sub planted-module; git config --file planted-module/config core.fsmonitor "touch $E-pointer; false"
git config --file planted-module/config core.worktree ../sub
echo "gitdir: ../planted-module" > sub/.git
# Nested repositories: an existing one, moved aside, a new one that is staged, one in a closed folder.
git -C nested config core.fsmonitor "touch $E-nested; false"; plant nested/.git/hooks/pre-commit nested-hook
mv nested moved-nested; git init -q nested; git -C nested commit -q --allow-empty -m evil
git -C nested config core.fsmonitor "touch $E-nested-moved; false"
git init -q evil; git -C evil commit -q --allow-empty -m evil; git -C evil config core.fsmonitor "touch $E-gitlink; false"
git init -q closed; git -C closed commit -q --allow-empty -m evil; git -C closed config core.fsmonitor "touch $E-closed; false"
git add evil closed; git commit -qm "Add evil" -- evil; chmod 111 closed
# Paths in the work tree that git obeys, existing and missing.
plant .githooks/pre-commit hooks-path; plant .githooks/post-commit hooks-path-new
git config --file tools/included core.fsmonitor "touch $E-included; false"
mkdir -p later; git config --file later/included core.fsmonitor "touch $E-later; false"
plant tools/hook.sh linked-hook
mv tools tools-moved; mkdir tools; plant tools/hook.sh linked-hook-moved
git config --file tools/included core.fsmonitor "touch $E-included-moved; false"
# A todo list that `git rebase --continue` would run.
mkdir -p .git/rebase-merge; echo "exec touch $E-rebase" > .git/rebase-merge/git-rebase-todo
chmod 555 .git/hooks .git .git/modules
true
"#;

/// Commands of the user afterwards, in every repository. Single commands may fail.
const USE_GIT: &str = r#"
cd "$1" || exit 0
{ git status; git diff; git log -1; git submodule status; echo x >> file; git add file; git commit -m later; git push; git checkout -b "later$RANDOM$$"; git stash; git rebase --continue; } > /dev/null 2>&1
true
"#;

/// Runs the user's commands everywhere, and returns the signs of planted programs that have run.
fn signs_of_execution(fixture: &SandboxFixture) -> Vec<String> {
    let root = fixture.env.root();
    let signs = || {
        let entries = fs::read_dir(root).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        let mut signs: Vec<String> = names.filter(|name| name.starts_with("evil-")).collect();
        signs.sort();
        signs
    };
    // Without a sandbox, the agent's own git may have run something.
    for sign in signs() {
        fs::remove_file(root.join(sign)).unwrap();
    }
    for folder in [
        "work",
        "work/sub",
        "work/deep",
        "work/nested",
        "work/moved-nested",
        "work/evil",
        "work/closed",
        "other",
    ] {
        let path = root.join(folder);
        let mut run = fixture
            .env
            .command("sh")
            .args(["-c", USE_GIT, "sh"])
            .arg(&path)
            .env("GIT_CEILING_DIRECTORIES", root);
        for (name, value) in [("AUTHOR", "u"), ("COMMITTER", "u")] {
            run = run
                .env(format!("GIT_{name}_NAME"), value)
                .env(format!("GIT_{name}_EMAIL"), value);
        }
        run.run().assert_success();
    }
    signs()
}

fn attacks(fixture: &SandboxFixture) -> String {
    format!(
        "E='{}'\n{ATTACKS}",
        fixture.env.root().join("evil").display()
    )
}

/// Returns what was restored or moved away after the last attempt's session.
fn notices(fixture: &SandboxFixture) -> Vec<String> {
    let story = fixture
        .env
        .selvedge(["show", "--format", "json"])
        .run()
        .json();
    let notices = &story["attempts"][0]["session"]["sandbox"]["put_back"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    notices
        .as_array()
        .map(|all| all.iter().map(text).collect())
        .unwrap_or_default()
}

#[track_caller]
fn assert_notice(notices: &[String], beginning: &str) {
    let is_there = notices.iter().any(|notice| notice.starts_with(beginning));
    assert!(is_there, "{beginning} is missing: {notices:#?}");
}

fn git_runs_nothing_that_an_agent_planted(fixture: &SandboxFixture) {
    create_full_repository(fixture);
    fixture.run_agent(&attacks(fixture), &[]);
    assert_eq!(
        signs_of_execution(fixture),
        [] as [String; 0],
        "{:#?}",
        notices(fixture)
    );
    let notices = notices(fixture);
    for expected in [
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/worktrees/other/commondir",
        ".git/modules/a/b/c/d/e/f/g/hooks/pre-commit",
        "evil/.git (moved to ",
        "closed/.git (moved to ",
        "nested/.git (moved to ",
        "later/included (moved to ",
        "tools/hook.sh",
    ] {
        assert_notice(&notices, expected);
    }
    fixture.env.git(["fsck", "--strict"]);
}

fn git_runs_nothing_that_a_check_planted(fixture: &SandboxFixture) {
    create_full_repository(fixture);
    fixture.check_output(&attacks(fixture));
    assert_eq!(signs_of_execution(fixture), [] as [String; 0]);
}

/// A `.git` that is a link stays the same link, and its target is protected.
fn git_link_to_a_repository_is_kept(fixture: &SandboxFixture) {
    let work = fixture.env.work_dir();
    fs::rename(work.join(".git"), work.join("real")).unwrap();
    symlink("real", work.join(".git")).unwrap();
    fs::write(work.join("real/info/exclude"), "/real\n").unwrap();
    let evil = fixture.env.root().join("evil");
    let script = format!(
        "cp -r real planted; git --git-dir=planted config core.fsmonitor 'touch {0}; false'
         git config core.fsmonitor 'touch {0}; false'; rm .git; ln -s planted .git",
        evil.display()
    );
    fixture.run_agent(&script, &[]);
    assert_eq!(fs::read_link(work.join(".git")).unwrap(), Path::new("real"));
    fixture.env.git(["status"]);
    assert!(!evil.exists());
    assert_notice(&notices(fixture), ".git");
}

/// Removing git directories removes nothing of the user's.
fn git_dirs_cannot_be_removed(fixture: &SandboxFixture) {
    create_full_repository(fixture);
    let state = "git show-ref; git stash list; git -C nested log --format=%H; git -C sub log --format=%H; cat .git/config";
    let agent = "rm -rf .git nested/.git sub/.git; mkdir -p .git; true";
    // The fixture commits its agent first.
    fixture
        .env
        .write("agent.sh", format!("#!/bin/sh\ncat > /dev/null\n{agent}\n"));
    make_executable(&fixture.env.work_dir().join("agent.sh"));
    fixture.env.commit("An agent");
    let before = run_script(fixture, state);
    fixture.run_agent(agent, &[]);
    fixture.env.git(["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(run_script(fixture, state), before);
    fixture.env.git(["fsck", "--strict"]);
    let notices = notices(fixture);
    assert_notice(&notices, ".git");
    assert_notice(&notices, "nested/.git");
}

/// Commits, branches, tags, staged files and stash entries of an agent reach the user's repositories.
fn git_work_of_an_agent_is_taken_over(fixture: &SandboxFixture) {
    create_full_repository(fixture);
    let env = &fixture.env;
    env.write("mine", "kept\n");
    env.git(["stash", "--include-untracked", "--quiet"]);
    let agent = r#"
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x
git status > /dev/null
echo first > made; git add made; git commit -qm First; git tag v1
git checkout -q -b feature; echo second >> made; git commit -qam Second
git checkout -q -b topic; git commit -q --allow-empty -m Topic; git checkout -q feature
echo stashed >> made; git stash --quiet -- made
git worktree add -q "${TMPDIR:-/tmp}/elsewhere"; git -C "${TMPDIR:-/tmp}/elsewhere" log -1 > /dev/null
echo staged > staged; git add staged
git -C nested commit -q --allow-empty -m 'In nested'
git -C sub checkout -q -b work; git -C sub commit -q --allow-empty -m 'In sub'; git add sub
hash=$(printf large | sha256sum | cut -c1-64)
folder=.git/lfs/objects/$(echo $hash | cut -c1-2)/$(echo $hash | cut -c3-4)
mkdir -p $folder; printf 'large' > $folder/$hash
git gc --quiet
"#;
    let result = fixture.run_agent(agent, &[]);
    assert_eq!(result["outcome"], "verified", "{result:#}");
    let asked = "git log --format=%s -2; git branch --show-current; git show -s --format=%s v1 topic
        git stash list --format=%gs; git diff --cached --name-only; git -C nested log -1 --format=%s; git -C sub log -1 --format=%s
        git status --short --ignore-submodules; git fsck --strict --no-dangling; cat made .git/lfs/objects/*/*/*";
    let answer = run_script(fixture, asked);
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(
        lines[..5],
        ["Second", "First", "feature", "First", "Topic"],
        "{answer}"
    );
    assert!(lines[5].starts_with("WIP on feature: "), "{answer}");
    assert!(lines[6].starts_with("WIP on "), "{answer}");
    assert_eq!(
        lines[7..],
        [
            "staged",
            "sub",
            "In nested",
            "In sub",
            "A  staged",
            "first",
            "second",
            "large",
        ],
        "{answer}"
    );
    let notices = notices(fixture);
    assert_eq!(notices, [] as [String; 0]);
}

/// In a linked work tree an agent works with the main repository's branches, and cannot change its hooks.
fn git_work_tree_of_another_repository_is_protected(fixture: &SandboxFixture) {
    create_full_repository(fixture);
    let env = &fixture.env;
    let other = env.root().join("other");
    let evil = env.root().join("evil");
    let hook = env.work_dir().join(".git/hooks/post-checkout");
    let agent = format!(
        "#!/bin/sh\ncat > /dev/null
         printf '#!/bin/sh\\ntouch {0}\\n' > '{1}'; chmod +x '{1}'; git config core.fsmonitor 'touch {0}; false'
         echo x > made; git add made; git -c user.name=a -c user.email=a@x commit -qm Made\n",
        evil.display(),
        hook.display(),
    );
    let program = other.join("agent.sh");
    fs::write(&program, agent).unwrap();
    make_executable(&program);
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        "./agent.sh",
        "--check",
        "git log -1",
        "--retries",
        "0",
        "--format",
        "json",
    ];
    let result = env.selvedge(run).dir(&other).run().json();
    assert_eq!(result["outcome"], "verified", "{result:#}");
    let git = |arguments: &[&str]| {
        env.command("git")
            .args(arguments)
            .dir(&other)
            .run()
            .stdout
            .clone()
    };
    assert_eq!(git(&["log", "-1", "--format=%s"]), "Made\n");
    assert_eq!(git(&["status", "--short", "made"]), "");
    git(&["checkout", "-q", "-b", "later"]);
    assert!(!hook.exists() && !evil.exists());
}

/// A merge of the user that an agent finishes is finished.
fn git_merge_of_the_user_is_finished_by_an_agent(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write("file", "0\n");
    let agent =
        "echo merged > file; git add file; git -c user.name=a -c user.email=a@x commit -qm Merged";
    env.write("agent.sh", format!("#!/bin/sh\ncat > /dev/null\n{agent}\n"));
    make_executable(&env.work_dir().join("agent.sh"));
    env.commit("Start");
    env.git(["checkout", "-q", "-b", "side"]);
    env.write("file", "1\n");
    env.commit("Side");
    env.git(["checkout", "-q", "-"]);
    env.write("file", "2\n");
    env.commit("Ours");
    env.command("git")
        .args(["merge", "side"])
        .run()
        .assert_code(1);
    let run = [
        "run",
        "merge",
        "--agent-cmd",
        "./agent.sh",
        "--check",
        "true",
        "--retries",
        "0",
        "--format",
        "json",
    ];
    let result = env.selvedge(run).run().json();
    assert_eq!(result["outcome"], "verified", "{result:#}");
    assert_eq!(
        env.git(["log", "-1", "--format=%s %P"]).split(' ').count(),
        3
    );
    assert_eq!(env.git(["status", "--short"]), "");
    assert!(!env.work_dir().join(".git/MERGE_HEAD").exists());
}

/// In a folder without a repository, too.
fn git_repository_of_an_agent_is_moved_away(fixture: &SandboxFixture) {
    fs::remove_dir_all(fixture.env.work_dir().join(".git")).unwrap();
    let path = fixture.env.write(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\ngit init -q .; echo y > done\n",
    );
    make_executable(&path);
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        "./agent.sh",
        "--check",
        "true",
        "--retries",
        "0",
        "--format",
        "json",
    ];
    let result = fixture.env.selvedge(run).run().json();
    assert_eq!(result["outcome"], "verified", "{result:#}");
    assert!(!fixture.env.work_dir().join(".git").exists());
    let notices = notices(fixture);
    let moved = notices[0].strip_prefix(".git (moved to ").unwrap();
    assert!(
        PathBuf::from(moved.trim_end_matches(')'))
            .join("HEAD")
            .is_file(),
        "{notices:?}"
    );
}

/// Folders that git accepts as git directories, though they are not named `.git`, are no longer git directories
/// afterwards.
fn git_runs_nothing_in_planted_bare_repositories(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write("docs/text", "text\n");
    let agent = r#"
bare() {
    mkdir -p "$1/objects" "$1/refs"; echo 'ref: refs/heads/main' > "$1/HEAD"
    printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch '"$E-$2"'; false"\n' > "$1/config"
}
bare docs bare; bare new/deep deep; bare common real
mkdir pointing; echo ../common > pointing/commondir; echo 'ref: refs/heads/main' > pointing/HEAD
mkdir linked; bare linked linked; rm linked/HEAD; ln -s refs/heads/main linked/HEAD
true
"#;
    let evil = env.root().join("evil");
    fixture.run_agent(&format!("E='{}'\n{agent}", evil.display()), &[]);
    let use_git =
        "for it in docs new/deep common pointing linked; do (cd $it && git status); done 2>&1";
    let output = run_script(fixture, use_git);
    let ran = ["bare", "deep", "real", "linked"].map(|it| env.root().join(format!("evil-{it}")));
    assert!(!ran.iter().any(|it| it.exists()), "{output}");
    let notices = notices(fixture);
    for path in [
        "docs/HEAD",
        "docs/config",
        "new/deep/HEAD",
        "pointing/HEAD",
        "linked/HEAD",
    ] {
        assert_notice(&notices, &format!("{path} (moved to "));
    }
    assert!(env.work_dir().join("docs/text").exists());
}

/// Commits, branches, tags and staged files are all that an agent can leave in a git directory.
fn git_dirs_keep_no_traps(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write("tracked", "text\n");
    let setup = r#"
set -e
git add tracked; git -c user.name=u -c user.email=u@x commit -qm Start; git update-ref refs/remotes/origin/main HEAD
for it in 1 2 3; do echo precious > "$ROOT/victim$it"; done
"#;
    run_script(fixture, setup);
    let agent = r#"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x
echo made > made; git add made; git commit -qm Made; echo staged > staged; git add staged
git update-index --skip-worktree tracked; echo changed > tracked
git update-ref refs/remotes/origin/main HEAD; git update-ref refs/replace/$(git rev-parse HEAD~) HEAD
mkdir -p .git/info .git/rr-cache/aa .git/rebase-merge .git/logs/refs/heads
echo '* filter=evil' > .git/info/attributes; echo evil > .git/rr-cache/aa/postimage; : > .git/info/grafts
echo refs/heads/main > .git/rebase-merge/head-name
rm -f .git/COMMIT_EDITMSG .git/logs/HEAD; branch=$(git branch --show-current); rm -f .git/logs/refs/heads/$branch
ln -s "$R/victim1" .git/COMMIT_EDITMSG; ln -s "$R/victim2" .git/logs/HEAD; ln -s "$R/victim3" .git/logs/refs/heads/$branch
ln -s "$R/victim1" .git/objects/info/link; mkdir -p .git/refs/heads/objects; ln -s "$R/victim1" .git/refs/heads/objects/x
true
"#;
    fixture.run_agent(&format!("R='{}'\n{agent}", env.root().display()), &[]);
    let asked = r#"
git log -1 --format=%s; git show -s --format=%s origin/main; git status --short; git ls-files -v | grep -v '^H'
git for-each-ref refs/replace; find .git -type l
for it in info/attributes info/grafts rr-cache/aa rebase-merge; do if [ -e .git/$it ]; then echo $it; fi; done
echo more > more; git add more; git -c user.name=u -c user.email=u@x commit -qm More; cat "$ROOT"/victim*
"#;
    let answer = run_script(fixture, asked);
    let expected = "Made\nStart\nA  staged\n M tracked\nprecious\nprecious\nprecious\n";
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&answer), sorted(expected), "{answer}");
    let notices = notices(fixture);
    for path in [
        ".git/info/attributes",
        ".git/info/grafts",
        ".git/refs/replace",
    ] {
        assert_notice(&notices, path);
    }
}

/// A bare repository around the workspace, which is one of its work trees, cannot be written.
fn git_repository_around_the_workspace_is_protected(fixture: &SandboxFixture) {
    let setup = "git -c user.name=u -c user.email=u@x commit -q --allow-empty -m Start
        git clone -q --bare . \"$ROOT/bare\"; git -C \"$ROOT/bare\" worktree add -q tree";
    run_script(fixture, setup);
    let env = &fixture.env;
    let (tree, evil) = (env.root().join("bare/tree"), env.root().join("evil"));
    let agent = format!(
        "#!/bin/sh\ncat > /dev/null; echo x > made
         printf '#!/bin/sh\\ntouch {0}\\n' > ../hooks/post-checkout; chmod +x ../hooks/post-checkout
         printf '[core]\\n\\tfsmonitor = touch {0}; false\\n' >> ../config\n",
        evil.display()
    );
    fs::write(tree.join("agent.sh"), agent).unwrap();
    make_executable(&tree.join("agent.sh"));
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        "./agent.sh",
        "--check",
        "true",
        "--retries",
        "0",
    ];
    env.selvedge(run).dir(&tree).run();
    assert!(tree.join("made").exists());
    env.command("git").args(["status"]).dir(&tree).run();
    let checkout = ["checkout", "-q", "-b", "later"];
    env.command("git").args(checkout).dir(&tree).run();
    assert!(!evil.exists());
}

/// Objects keep their content, and lists of objects are not trusted.
fn git_objects_cannot_be_replaced(fixture: &SandboxFixture) {
    fixture.env.write("tracked", "mine\n");
    run_script(
        fixture,
        "git add tracked; git -c user.name=u -c user.email=u@x commit -qm Start",
    );
    let agent = r"
file() { echo .git/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-); }
own=$(file $(git rev-parse HEAD:tracked)); echo evil > evil
other=$(file $(git hash-object -w evil)); cp $other $own.new; mv -f $own.new $own
mkdir -p .git/objects/info .git/objects/pack; echo x > .git/objects/info/commit-graph
echo x > .git/objects/pack/multi-pack-index
";
    fixture.run_agent(agent, &[]);
    let asked = "rm tracked; git checkout -q tracked; cat tracked
        ls .git/objects/info/commit-graph .git/objects/pack/multi-pack-index 2> /dev/null || true";
    assert_eq!(run_script(fixture, asked), "mine\n");
}

/// Index entries in a git directory, which git itself refuses to write, are not taken over.
fn git_index_entries_of_hooks_are_not_taken_over(fixture: &SandboxFixture) {
    let agent = r#"
echo staged > staged; git add staged
git update-index --add --cacheinfo 100755,$(git hash-object -w staged),_git/hooks/pre-commit
LC_ALL=C sed -i 's,_git/hooks/pre-commit,.git/hooks/pre-commit,' .git/index
head -c -20 .git/index > index
for byte in $(sha1sum index | cut -c1-40 | sed 's/../& /g'); do printf "\\$(printf %03o 0x$byte)"; done > sum
cat index sum > .git/index; rm index sum
"#;
    fixture.run_agent(agent, &[]);
    let staged = fixture.env.git(["diff", "--cached", "--name-only"]);
    assert_eq!(staged, "staged\n");
}

/// New branches and tags cannot be mistaken for existing names of the user.
fn git_names_keep_their_meaning(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write("file", "text\n");
    env.commit("Start");
    env.git(["branch", "-M", "main"]);
    env.git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let id = env.git(["rev-parse", "HEAD"]);
    let id = id.trim();
    let agent = format!(
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x
         git checkout -q --detach; git commit -q --allow-empty -m Evil; evil=$(git rev-parse HEAD); git checkout -q main
         for name in tags/main tags/HEAD tags/origin/main tags/heads/main heads/origin/main heads/origin heads/HEAD \\
             heads/FETCH_HEAD heads/{id} tags/{} 'heads/$(x)' heads/ma\u{200b}in heads/good tags/20260101; do git update-ref refs/$name $evil; done",
        &id[..10],
    );
    fixture.run_agent(&agent, &[]);
    let names = env.git(["for-each-ref", "--format=%(refname)"]);
    let expected = [
        "refs/heads/good",
        "refs/heads/main",
        "refs/remotes/origin/main",
        "refs/tags/20260101",
    ];
    assert_eq!(names.lines().collect::<Vec<_>>(), expected);
    let notices = notices(fixture);
    let expected = "refs/tags/main (not taken over: the name already means refs/heads/main)";
    assert_notice(&notices, expected);
    assert_notice(&notices, &format!("refs/heads/{id} (not taken over: "));
    assert_notice(&notices, "refs/heads/$(x) (not taken over: ");
}

/// A change of a file that the user's git runs, because a setting or a hook names it, is reported.
fn git_programs_in_the_work_tree_are_reported(fixture: &SandboxFixture) {
    let setup = r#"
set -e
mkdir -p .husky/_ tools
printf '#!/bin/sh\nsh .husky/pre-commit\n' > .husky/_/pre-commit; chmod +x .husky/_/pre-commit
echo true > .husky/pre-commit; echo true > .husky/same
for it in clean textconv hook other; do printf '#!/bin/sh\ntrue\n' > tools/$it.sh; chmod +x tools/$it.sh; done
printf '#!/bin/sh\nexec "$(git rev-parse --show-toplevel)/tools/hook.sh"\n' > .husky/_/post-commit
git add .; git -c user.name=u -c user.email=u@x commit -qm All
git config core.hooksPath .husky/_; git config filter.x.clean "sh ./tools/clean.sh %f"
git config diff.x.textconv "$PWD/tools/textconv.sh"; git config alias.x '!tools/missing.sh'
"#;
    run_script(fixture, setup);
    let agent = "for it in .husky/pre-commit .husky/new tools/clean.sh tools/textconv.sh tools/hook.sh tools/other.sh \
                 tools/missing.sh; do echo changed >> $it; done";
    fixture.run_agent(agent, &[]);
    let expected = [
        ".husky/new",
        ".husky/pre-commit",
        "tools/clean.sh",
        "tools/hook.sh",
        "tools/missing.sh",
        "tools/textconv.sh",
    ];
    let expected = expected.map(|path| format!("changed what git will run: {path}"));
    assert_eq!(notices(fixture), expected);
}

on_all!(
    git_runs_nothing_that_an_agent_planted,
    git_runs_nothing_that_a_check_planted,
    git_link_to_a_repository_is_kept,
    git_dirs_cannot_be_removed,
    git_work_of_an_agent_is_taken_over,
    git_work_tree_of_another_repository_is_protected,
    git_merge_of_the_user_is_finished_by_an_agent,
    git_repository_of_an_agent_is_moved_away,
    git_runs_nothing_in_planted_bare_repositories,
    git_dirs_keep_no_traps,
    git_repository_around_the_workspace_is_protected,
    git_objects_cannot_be_replaced,
    git_index_entries_of_hooks_are_not_taken_over,
    git_names_keep_their_meaning,
    git_programs_in_the_work_tree_are_reported,
);

/// Without a sandbox, git directories are restored in the same way.
mod none {
    use super::SandboxFixture;

    #[test]
    fn git_runs_nothing_that_an_agent_planted() {
        super::git_runs_nothing_that_an_agent_planted(&SandboxFixture::create("none"));
    }

    #[test]
    fn git_dirs_cannot_be_removed() {
        super::git_dirs_cannot_be_removed(&SandboxFixture::create("none"));
    }

    #[test]
    fn git_dirs_keep_no_traps() {
        super::git_dirs_keep_no_traps(&SandboxFixture::create("none"));
    }

    #[test]
    fn git_work_of_an_agent_is_taken_over() {
        super::git_work_of_an_agent_is_taken_over(&SandboxFixture::create("none"));
    }
}
