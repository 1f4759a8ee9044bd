//! Which folder an agent and a check get for each cache, seeds, and removal of folders.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::environment::EnvironmentMap;

/// A home with caches, and a folder for those of agents.
struct CachesFixture {
    _root: tempfile::TempDir,
    root: PathBuf,
    places: SandboxPaths,
}

impl CachesFixture {
    fn new(files: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        for file in files {
            let file = path.join("home").join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "home").unwrap();
        }
        fs::create_dir(path.join("work")).unwrap();
        let home = path.join("home");
        let environment: EnvironmentMap = [("HOME".into(), home.into())].into();
        Self {
            places: SandboxPaths::new(environment),
            root: path,
            _root: root,
        }
    }

    fn for_agents(&self, can_mount: bool, environment: &[EnvironmentVariable]) -> CacheAccess {
        let own = self.root.join("own");
        let work = self.root.join("work");
        agent_cache_access(&self.places, &own, &work, can_mount, &[], environment)
    }

    fn home(&self, path: &str) -> PathBuf {
        self.root.join("home").join(path)
    }
}

fn mounts(access: &CacheAccess) -> Vec<(PathBuf, PathBuf, PathAccess)> {
    let mounted = access.relocated.iter();
    mounted
        .map(|it| ((&it.mount_point).into(), (&it.source).into(), it.access))
        .collect()
}

fn variable<'a>(access: &'a CacheAccess, name: &str) -> Option<&'a OsStr> {
    value_of(&access.variables, name)
}

#[test]
fn caches_mounts_show_installed_files() {
    let fixture = CachesFixture::new(&[".cargo/bin/tool", ".cargo/registry/x", ".npm/x"]);
    let access = fixture.for_agents(true, &[]);
    let own = |name: &str| fixture.root.join("own").join(name);
    assert_eq!(
        mounts(&access),
        [
            (fixture.home(".cargo"), own("cargo"), PathAccess::Write),
            (
                fixture.home(".cargo/bin"),
                fixture.home(".cargo/bin"),
                PathAccess::Read
            ),
            (fixture.home(".npm"), own("npm"), PathAccess::Write),
        ]
    );
    assert_eq!(variable(&access, "CARGO_HOME"), None);
    // The home lacks these two.
    assert_eq!(
        variable(&access, "XDG_CACHE_HOME"),
        Some(own("cache").as_os_str())
    );
    assert_eq!(access.writable, [own("cache"), own("go")]);
}

#[test]
fn caches_without_mounts_use_variables() {
    let fixture = CachesFixture::new(&[".cargo/config.toml", ".cargo/registry/x", ".m2/x"]);
    let opts = [("MAVEN_OPTS".into(), "-Xmx1g".into())];
    let access = fixture.for_agents(false, &opts);
    let own = fixture.root.join("own");
    assert_eq!(mounts(&access), []);
    assert_eq!(
        variable(&access, "CARGO_HOME"),
        Some(own.join("cargo").as_os_str())
    );
    let maven = format!("-Xmx1g -Dmaven.repo.local={}/m2/repository", own.display());
    assert_eq!(variable(&access, "MAVEN_OPTS"), Some(OsStr::new(&maven)));
    assert!(access.writable.iter().all(|path| path.starts_with(&own)));
    let settings = fs::read_link(own.join("cargo/config.toml")).unwrap();
    assert_eq!(settings, fixture.home(".cargo/config.toml"));
}

#[test]
fn caches_follow_no_agent_links() {
    let fixture = CachesFixture::new(&[".stack/programs/ghc/x", ".cache/pypoetry/virtualenvs/x"]);
    let elsewhere = fixture.root.join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    let _ = fixture.for_agents(true, &[]);
    let own = fixture.root.join("own");
    fs::remove_dir_all(own.join("cache/pypoetry")).unwrap();
    symlink(&elsewhere, own.join("cache/pypoetry")).unwrap();
    fs::remove_dir_all(own.join("stack/programs")).unwrap();
    symlink(&elsewhere, own.join("stack/programs")).unwrap();
    for can_mount in [true, false] {
        let access = fixture.for_agents(can_mount, &[]);
        let environments = fixture.home(".cache/pypoetry/virtualenvs");
        assert!(
            mounts(&access)
                .iter()
                .all(|(place, ..)| *place != environments)
        );
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}

/// The sandbox may be another one in the next run.
#[test]
fn caches_mounts_and_links_replace_each_other() {
    let fixture = CachesFixture::new(&[".cargo/config.toml", ".cargo/bin/tool"]);
    let own = fixture.root.join("own/cargo");
    for _ in 0..2 {
        let _ = fixture.for_agents(false, &[]);
        let settings = fs::read_to_string(own.join("config.toml")).unwrap();
        assert_eq!(settings, "home");
        assert!(own.join("bin/tool").exists());
        let access = fixture.for_agents(true, &[]);
        let read = mounts(&access).into_iter();
        assert_eq!(
            read.filter(|(.., access)| *access == PathAccess::Read)
                .count(),
            2
        );
        assert_eq!(fs::read_to_string(own.join("config.toml")).unwrap(), "");
    }
}

#[test]
fn caches_of_checks_are_those_of_the_home() {
    let fixture = CachesFixture::new(&[".cargo/x"]);
    let (state, work) = (fixture.root.join("state"), fixture.root.join("work"));
    let home = CheckHome {
        places: &fixture.places,
        workspace: &work,
        steering: &[],
        opened: &[],
    };
    let access = check_cache_access(&home, &state, true, &[]);
    assert!(access.writable.contains(&fixture.home(".cargo")));
    assert_eq!(variable(&access, "CARGO_HOME"), None);
    let cache = variable(&access, "XDG_CACHE_HOME").unwrap();
    assert!(Path::new(cache).starts_with(state.join(CHECKS_FOLDER)));
    assert_eq!(variable(&access, "MAVEN_OPTS"), None);
    fs::write(work.join("pom.xml"), "").unwrap();
    let access = check_cache_access(&home, &state, true, &[]);
    let options = variable(&access, "MAVEN_OPTS").unwrap().to_str().unwrap();
    let repository = state.join(CHECKS_FOLDER).join("m2/repository");
    assert_eq!(
        options,
        format!("-Dmaven.repo.local={}", repository.display())
    );
}

#[test]
fn caches_seeds_are_copied_once() {
    let fixture = CachesFixture::new(&[".cargo/registry/cache/i/a.crate", ".npm/_cacache/x"]);
    let (work, own) = (fixture.root.join("work"), fixture.root.join("all/own"));
    fs::create_dir(work.join("crates")).unwrap();
    fs::write(work.join("crates/Cargo.toml"), "").unwrap();
    seed_agent_caches(&fixture.places, &own, &work).unwrap();
    let copy = own.join(WORK_FOLDER).join("cargo/registry/cache/i/a.crate");
    assert_eq!(fs::read_to_string(&copy).unwrap(), "home");
    assert!(!own.join(WORK_FOLDER).join("npm").exists());
    fs::write(&copy, "the agent's").unwrap();
    seed_agent_caches(&fixture.places, &own, &work).unwrap();
    assert_eq!(fs::read_to_string(&copy).unwrap(), "the agent's");
}

#[test]
fn caches_of_missing_workspaces_are_removed() {
    let fixture = CachesFixture::new(&[]);
    let all = fixture.root.join(AGENTS_FOLDER);
    let old = SystemTime::now() - Duration::from_hours(2);
    for name in ["gone", "kept"] {
        let protected = all.join(name).join("work/go/mod");
        fs::create_dir_all(&protected).unwrap();
        fs::write(protected.join("file"), "").unwrap();
        fs::set_permissions(&protected, fs::Permissions::from_mode(0o500)).unwrap();
        let workspace = fixture
            .root
            .join(if name == "kept" { "work" } else { "gone" });
        let record = all.join(name).join(WORKSPACE_FILE);
        fs::write(&record, workspace.as_os_str().as_encoded_bytes()).unwrap();
        let record = fs::File::options().write(true).open(record).unwrap();
        record.set_modified(old).unwrap();
    }
    let own = all.join("own");
    mark_agent_caches(&own, &fixture.root.join("work")).unwrap();
    let left = AgentCaches::all(&fixture.root);
    let left: Vec<_> = left.iter().map(|caches| caches.path.clone()).collect();
    assert_eq!(left, [all.join("kept"), own]);
}
