//! The packages of a release: each is installed into an empty environment and runs `selvedge demo` there. Also the
//! files that other sites read: workflows, hooks, SBOM, formula, schema. `cargo xtask e2e` writes the packages of the
//! debug program before; `SELVEDGE_E2E_PACKAGES` names a folder with other ones, and `--nocapture` prints installed
//! sizes and times.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Instant;

use selvedge_testkit::{CommandOutput, Invocation, Polling, TestEnv, wait_until};

use crate::fixtures::env_with_repo;

const PACKAGES: &str = "SELVEDGE_E2E_PACKAGES";
const PROGRAMS: &str = "SELVEDGE_E2E_DIST_PROGRAMS";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The folder that `cargo xtask e2e` wrote.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::var_os(PACKAGES).unwrap_or_else(|| {
        panic!("${PACKAGES} is not set: run the suite by `cargo xtask e2e dist::`")
    });
    PathBuf::from(folder).join(name)
}

/// Returns the only package whose name begins and ends like this.
fn package(prefix: &str, suffix: &str) -> PathBuf {
    let files = fs::read_dir(folder("packages")).unwrap();
    let mut found: Vec<_> = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(prefix) && name.ends_with(suffix)
        })
        .collect();
    assert_eq!(found.len(), 1, "{prefix}…{suffix}: {found:?}");
    found.pop().unwrap()
}

/// A command with the pinned tools on its path.
fn tool(env: &TestEnv, program: &str) -> Invocation {
    let programs = std::env::var_os(PROGRAMS).unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&programs).chain(std::env::split_paths(&path));
    let path: OsString = std::env::join_paths(folders).unwrap();
    // By its path, because the search for a program does not use the variables of the command.
    let file = std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .unwrap_or_else(|| {
            panic!("`{program}` is missing: run the suite by `cargo xtask e2e dist::`")
        });
    env.command(file).env("PATH", path)
}

/// Asserts that a demo ended with a verdict.
fn assert_demo(out: &CommandOutput) {
    out.assert_code(0);
    let text = format!("{}{}", out.stdout, out.stderr);
    assert!(text.contains("verified: 3 checks passed"), "{text}");
}

/// Prints a row for the table of `docs/how-to/install.md`: the size of what was installed, and the time from the
/// package to the verdict.
#[expect(clippy::print_stdout, reason = "a row for a document")]
fn report(channel: &str, installed: u64, began: Instant) {
    let seconds = began.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let megabytes = installed as f64 / 1e6;
    println!("| {channel} | {megabytes:.1} MB | {seconds:.1} s |");
}

fn size(path: &Path) -> u64 {
    let about = fs::symlink_metadata(path).unwrap();
    if !about.is_dir() {
        return about.len();
    }
    fs::read_dir(path)
        .unwrap()
        .map(|entry| size(&entry.unwrap().path()))
        .sum()
}

#[test]
fn archive_is_complete_and_runs_the_demo() {
    let env = env_with_repo();
    let began = Instant::now();
    let installed = env.root().join("archive");
    fs::create_dir(&installed).unwrap();
    let archive = package("selvedge-", ".tar.gz");
    let unpack = env
        .command("tar")
        .arg("-xzf")
        .arg(&archive)
        .arg("-C")
        .arg(&installed);
    unpack.run().assert_success();
    let name = archive
        .file_name()
        .unwrap()
        .to_string_lossy()
        .replace(".tar.gz", "");
    let root = installed.join(&name);
    assert_demo(&env.command(root.join("selvedge")).arg("demo").run());
    report("archive", size(&installed), began);

    for file in [
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "THIRD-PARTY-LICENSES.txt",
        "completions/_selvedge",
        "completions/selvedge.bash",
        "completions/selvedge.fish",
        "man/selvedge.1",
        "man/selvedge-config-show.1",
        "selvedge.cdx.json",
    ] {
        assert!(root.join(file).is_file(), "{file} is not in {name}");
    }
    // Pages and completions are committed files, and could be those of another version.
    let pages = env.root().join("pages");
    let man = env.command(root.join("selvedge")).args(["man", "--dir"]);
    man.arg(&pages).run().assert_success();
    let own = fs::read_to_string(pages.join("selvedge.1")).unwrap();
    let own: String = own
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect();
    let packed = fs::read_to_string(root.join("man/selvedge.1")).unwrap();
    assert!(
        packed == own,
        "man/selvedge.1 is stale: `cargo xtask generate`"
    );
    let third_party = fs::read_to_string(root.join("THIRD-PARTY-LICENSES.txt")).unwrap();
    assert!(
        third_party.contains("\nring "),
        "ring is linked into the program"
    );
}

#[test]
fn checksums_cover_every_package() {
    let env = env_with_repo();
    let packages = folder("packages");
    let check = env
        .command("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"]);
    check.dir(&packages).run().assert_success();
    let listed = fs::read_to_string(packages.join("SHA256SUMS"))
        .unwrap()
        .lines()
        .count();
    assert_eq!(listed + 1, fs::read_dir(packages).unwrap().count());
}

#[test]
fn binstall_finds_the_archive() {
    let manifest = fs::read_to_string(repository().join("crates/selvedge/Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let settings = &manifest["package"]["metadata"]["binstall"];
    let archive = package("selvedge-", ".tar.gz");
    let archive = archive.file_name().unwrap().to_string_lossy().into_owned();
    let version = env!("CARGO_PKG_VERSION");
    let target = archive
        .strip_prefix(&format!("selvedge-{version}-"))
        .unwrap();
    let target = target.strip_suffix(".tar.gz").unwrap();
    let fill = |key: &str| {
        let template = settings[key].as_str().unwrap().to_owned();
        [
            ("repo", env!("CARGO_PKG_REPOSITORY")),
            ("name", "selvedge"),
            ("bin", "selvedge"),
            ("version", version),
            ("target", target),
            ("binary-ext", ""),
        ]
        .iter()
        .fold(template, |text, (name, value)| {
            text.replace(&format!("{{ {name} }}"), value)
        })
    };
    let address = fill("pkg-url");
    let base = format!(
        "{}/releases/download/v{version}/",
        env!("CARGO_PKG_REPOSITORY")
    );
    assert_eq!(address.strip_prefix(&base), Some(archive.as_str()));
    let env = env_with_repo();
    let list = env
        .command("tar")
        .arg("-tzf")
        .arg(package("selvedge-", ".tar.gz"))
        .run();
    let program = fill("bin-dir");
    assert!(
        list.stdout.lines().any(|line| line == program),
        "{program}:\n{list}"
    );
}

#[test]
fn wheel_installs_by_pip_and_runs_by_uvx() {
    let env = env_with_repo();
    let wheel = package("selvedge-", ".whl");
    let began = Instant::now();
    let venv = env.root().join("venv");
    tool(&env, "python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .run()
        .assert_success();
    let before = size(&venv);
    let mut pip = tool(&env, "uv").args(["pip", "install", "--quiet", "--no-index", "--python"]);
    pip = pip.arg(venv.join("bin/python3")).arg(&wheel);
    pip.run().assert_success();
    assert!(size(&venv) > before);
    assert_demo(&env.command(venv.join("bin/selvedge")).arg("demo").run());
    report("pip, uv", size(&venv), began);

    let run = tool(&env, "uvx")
        .args(["--offline", "--no-index", "--from"])
        .arg(&wheel);
    assert_demo(&run.args(["selvedge", "demo"]).run());
    let tool_folder = env.root().join("tools");
    let install = tool(&env, "uv")
        .args(["tool", "install", "--offline", "--no-index"])
        .arg(&wheel);
    let install = install
        .env("UV_TOOL_DIR", &tool_folder)
        .env("UV_TOOL_BIN_DIR", env.root().join("bin"));
    install.run().assert_success();
    assert_demo(
        &env.command(env.root().join("bin/selvedge"))
            .arg("demo")
            .run(),
    );
}

#[test]
fn wheel_metadata_is_that_of_the_project() {
    let env = env_with_repo();
    // The build from source, which has the same name and version: the sources are listed without being compiled.
    let sources = env.root().join("sdist");
    let build = tool(&env, "maturin").args(["sdist", "--manifest-path"]);
    let build = build
        .arg(repository().join("crates/selvedge/Cargo.toml"))
        .arg("--out")
        .arg(&sources);
    let build = with_cargo(build).dir(repository());
    build.run().assert_success();
    let name = format!("selvedge-{}.tar.gz", env!("CARGO_PKG_VERSION"));
    let list = env
        .command("tar")
        .arg("-tzf")
        .arg(sources.join(&name))
        .run();
    for file in [
        "PKG-INFO",
        "Cargo.lock",
        "crates/selvedge/src/main.rs",
        "crates/selvedge-core/Cargo.toml",
    ] {
        let path = format!("selvedge-{}/{file}", env!("CARGO_PKG_VERSION"));
        assert!(
            list.stdout.lines().any(|line| line == path),
            "{path} is not in {name}"
        );
    }
}

/// Cargo finds its registry and its compiler.
fn with_cargo(run: Invocation) -> Invocation {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")]
        .into_iter()
        .fold(run, |run, (name, folder)| {
            let default = home.join(folder).into_os_string();
            run.env(name, std::env::var_os(name).unwrap_or(default))
        })
        .env_inherit("RUSTUP_TOOLCHAIN")
}

#[test]
fn npm_launcher_runs_without_install_scripts() {
    let env = env_with_repo();
    let registry = Registry::start(&env);
    for package in [
        package("selvedge-cli-", ".tgz"),
        package("selvedge-npm-", ".tgz"),
    ] {
        registry
            .npm(&env, "npm")
            .args(["publish", "--access", "public"])
            .arg(package)
            .run()
            .assert_success();
    }
    let began = Instant::now();
    let run = registry
        .npm(&env, "npx")
        .args(["--yes", "--ignore-scripts", "selvedge", "demo"]);
    assert_demo(&run.run());
    let cache = fs::read_dir(env.root().join("npm/_npx"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    report("npx", size(&cache), began);

    // Exit codes and arguments are those of the program.
    let out = registry
        .npm(&env, "npx")
        .args(["--yes", "selvedge", "verify", "--check", "exit 3"])
        .run();
    out.assert_code(1);
    // Signals reach it.
    let launcher = cache.join("node_modules/selvedge/selvedge.js");
    // Where the sandbox lets a check write.
    let started = env.work_dir().join("started");
    let check = format!("echo > '{}'; sleep 300", started.display());
    let running = env
        .command("node")
        .arg(&launcher)
        .args(["verify", "--check", &check])
        .spawn();
    wait_until("the check has started", || started.exists());
    running.terminate();
    running.wait().assert_code(143);

    // Without the package of the platform, the launcher names it as missing.
    let platform = cache.join("node_modules/@selvedge");
    fs::remove_dir_all(platform).unwrap();
    let out = env.command("node").arg(&launcher).arg("--version").run();
    out.assert_code(9);
    assert!(out.stderr.contains("the package @selvedge/cli-"), "{out}");
}

/// A registry on loopback that starts empty and asks no other one.
struct Registry {
    url: String,
    _server: selvedge_testkit::SpawnedProgram,
}

impl Registry {
    fn start(env: &TestEnv) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        let folder = env.root().join("registry");
        fs::create_dir(&folder).unwrap();
        let storage = serde_json::json!(folder.join("storage"));
        let config = format!(
            "storage: {storage}\nuplinks: {{}}\nweb: {{enable: false}}\nmax_body_size: 300mb\n\
             packages:\n  '**': {{access: $all, publish: $all, unpublish: $all}}\n\
             log: {{type: stdout, format: pretty, level: warn}}\n"
        );
        fs::write(folder.join("config.yaml"), config).unwrap();
        let server = tool(env, "verdaccio")
            .args(["--listen", &address, "--config"])
            .arg(folder.join("config.yaml"))
            .spawn();
        let mut polling = Polling::new(selvedge_testkit::WAIT_TIMEOUT);
        while std::net::TcpStream::connect(&address).is_err() {
            assert!(polling.pause(), "no registry: {}", server.stdout());
        }
        Self {
            url: format!("http://{address}/"),
            _server: server,
        }
    }

    fn npm(&self, env: &TestEnv, program: &str) -> Invocation {
        // npm publishes only with a token, which this registry does not read.
        let settings = format!(
            "registry={0}\n{1}:_authToken=none\naudit=false\nfund=false\nupdate-notifier=false\n",
            self.url,
            self.url.trim_start_matches("http:"),
        );
        let file = env.root().join("npmrc");
        fs::write(&file, settings).unwrap();
        tool(env, program)
            .env("npm_config_userconfig", file)
            .env("npm_config_globalconfig", env.root().join("none"))
            .env("npm_config_cache", env.root().join("npm"))
    }
}

#[test]
fn debian_package_installs_and_runs_the_demo() {
    if !Path::new("/usr/bin/dpkg").exists() {
        eprintln!("skipped: there is no dpkg on this machine");
        return;
    }
    let env = env_with_repo();
    let package = package("selvedge_", ".deb");
    let began = Instant::now();
    let root = env.root().join("debian");
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    // Into an empty root, where nothing that the package depends on is installed.
    let install = env
        .command("/usr/bin/dpkg")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .args(["--force-not-root", "--force-depends", "--log=/dev/null"])
        .arg(format!("--root={}", root.display()))
        .arg("--install")
        .arg(&package);
    install.run().assert_success();
    assert_demo(&env.command(root.join("usr/bin/selvedge")).arg("demo").run());
    report(".deb", size(&root.join("usr")), began);
    for file in [
        "share/man/man1/selvedge.1.gz",
        "share/man/man1/selvedge-run.1.gz",
        "share/bash-completion/completions/selvedge",
        "share/zsh/vendor-completions/_selvedge",
        "share/fish/vendor_completions.d/selvedge.fish",
        "share/doc/selvedge/copyright",
        "share/doc/selvedge/examples/selvedge-hub.service",
    ] {
        assert!(
            root.join("usr").join(file).is_file(),
            "{file} is not in the package"
        );
    }
    let about = env.command("dpkg-deb").arg("--field").arg(&package).run();
    assert!(about.stdout.contains("Depends: git"), "{about}");
    assert!(about.stdout.contains("Recommends: bubblewrap"), "{about}");
}

/// Both images are built on Debian's smallest one; the worker then carries out a task of the hub.
#[test]
fn images_of_hub_and_worker_run_a_task() {
    let env = env_with_repo();
    let containers = match Containers::new(&env) {
        Ok(containers) => containers,
        Err(why) => {
            eprintln!("skipped: no containers on this machine: {why}");
            return;
        }
    };
    for role in ["hub", "worker"] {
        let began = Instant::now();
        let image = containers.build(role);
        if role == "worker" {
            // A hub needs no git, which the demo does.
            let demo = ["run", "--rm", "--network=none", "--entrypoint=selvedge"];
            assert_demo(&containers.podman(demo).args([&image, "demo"]).run());
        }
        let size = ["image", "inspect", "--format={{.Size}}", &image];
        let size = containers.podman(size).run();
        report(&image, size.stdout.trim().parse().unwrap(), began);
    }

    let hub_url = "http://127.0.0.1:7700";
    let hub = ["run", "--detach", "--name=hub", "--network=none"];
    let hub = containers
        .podman(hub)
        .args(["selvedge-hub", "--behind-proxy"]);
    hub.run().assert_success();
    let mut polling = Polling::new(selvedge_testkit::WAIT_TIMEOUT);
    let logs = || containers.podman(["logs", "hub"]).run();
    while !logs().stdout.contains("listening on") {
        assert!(polling.pause(), "{}", logs());
    }
    let of_hub = |command: &[&str]| {
        let run = containers.podman(["exec", "--interactive", "hub", "selvedge"]);
        let to_hub = ["--hub", hub_url, "--token-file", "/data/admin.token"];
        run.args(command).args(to_hub)
    };
    let token = ["tokens", "add", "workers", "--scope", "worker"];
    let token = of_hub(&token).run();
    token.assert_success();
    let secret = containers.podman(["secret", "create", "worker-token", "-"]);
    secret.stdin(token.stdout.trim()).run().assert_success();
    let worker = containers
        .podman([
            "run",
            "--detach",
            "--name=worker",
            "--network=container:hub",
        ])
        .args(["--secret=worker-token", "--security-opt=seccomp=unconfined"])
        .args(["--security-opt=unmask=ALL", "selvedge-worker", "--hub"])
        .args([hub_url, "--token-file", "/run/secrets/worker-token"])
        .args(["--allow-path", "/data"]);
    worker.run().assert_success();
    let repository = "git init --quiet /data/repository && cd /data/repository \
                      && git -c user.name=a -c user.email=a@example.org commit --quiet --allow-empty --message=first";
    let create = containers.podman(["exec", "worker", "sh", "-euc", repository]);
    create.run().assert_success();
    let task = serde_json::json!({
        "description": "do it",
        "agent": "shell",
        "command": "echo done > out",
        "repository": "/data/repository",
        "verification_steps": [{"type": "command", "target": "grep -q done out"}],
    });
    let submit = of_hub(&["submit", "--file", "-", "--watch"]);
    let out = submit.stdin(task.to_string()).run();
    out.assert_code(0);
    assert!(out.stdout.contains("verified: 1 check passed"), "{out}");
}

/// Podman with a storage of its own, and an image of Debian in it.
struct Containers<'a> {
    env: &'a TestEnv,
    settings: [(&'static str, PathBuf); 2],
}

impl<'a> Containers<'a> {
    /// Installs Debian's smallest system from the registry of this machine; an error says what is missing for it.
    fn new(env: &'a TestEnv) -> Result<Self, String> {
        if !env.command("id").arg("-u").run().stdout.starts_with("0\n") {
            return Err("an ordinary user has no other user's numbers".to_owned());
        }
        let needed = ["podman", "mmdebstrap", "apt-get"];
        if let Some(missing) = needed.iter().find(|name| find_on_path(name).is_none()) {
            return Err(format!("`{missing}` is missing"));
        }
        let folder = env.root().join("containers");
        fs::create_dir(&folder).map_err(|error| error.to_string())?;
        let storage = format!(
            "[storage]\ndriver = \"overlay\"\ngraphroot = \"{0}/storage\"\nrunroot = \"{0}/run\"\n",
            folder.display(),
        );
        // Limits that are allowed if the tests themselves are limited.
        let runtime = find_on_path("runc").map(|_| "runtime = \"runc\"\n");
        let engine = format!(
            "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n\
             [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\n{}",
            runtime.unwrap_or_default()
        );
        let settings = [
            ("CONTAINERS_STORAGE_CONF", "storage.conf", storage),
            ("CONTAINERS_CONF", "containers.conf", engine),
        ]
        .map(|(variable, name, text)| {
            fs::write(folder.join(name), text).unwrap();
            (variable, folder.join(name))
        });
        let containers = Self { env, settings };
        let registry = [
            "indextargets",
            "--format=$(SITE) $(RELEASE)",
            "Created-By: Packages",
        ];
        let registry = env.command("apt-get").args(registry).run();
        let (site, release) = registry
            .stdout
            .lines()
            .next()
            .and_then(|line| line.split_once(' '))
            .ok_or("apt-get has no registry")?;
        let system = folder.join("debian.tar");
        let install = env
            .command("mmdebstrap")
            .args(["--variant=minbase", "--quiet"]);
        let import = containers.podman(["import"]).arg(&system).arg("debian");
        let trial = ["run", "--rm", "--network=none", "debian", "true"];
        for step in [
            install.arg(release).arg(&system).arg(site),
            import,
            containers.podman(trial),
        ] {
            let out = step.run();
            if out.code != 0 {
                return Err(out.to_string());
            }
        }
        Ok(containers)
    }

    fn podman<'s>(&self, args: impl IntoIterator<Item = &'s str>) -> Invocation {
        let podman = self.env.command("podman").args(args);
        let settings = self.settings.iter();
        settings.fold(podman, |podman, (name, file)| podman.env(name, file))
    }

    /// Builds an image from the archive; returns its name.
    fn build(&self, role: &str) -> String {
        let archive = package("selvedge-", ".tar.gz");
        let archive = archive.file_name().unwrap().to_string_lossy();
        let target = archive
            .strip_prefix(&format!("selvedge-{}-", env!("CARGO_PKG_VERSION")))
            .and_then(|name| name.strip_suffix(".tar.gz"))
            .unwrap();
        let programs = Path::new(env!("CARGO_BIN_EXE_selvedge")).parent().unwrap();
        let image = format!("selvedge-{role}");
        let build = self.env.command(programs.join("xtask"));
        let build = build.args(["dist", "image", role, "--base", "debian"]);
        let build = build.args(["--tag", &image, "--target", target, "--output"]);
        let build = with_cargo(build.arg(folder("packages"))).dir(repository());
        let settings = self.settings.iter();
        let build = settings.fold(build, |build, (name, file)| build.env(name, file));
        build.run().assert_success();
        image
    }
}

impl Drop for Containers<'_> {
    fn drop(&mut self) {
        // Their processes and mounts would outlive the test. The worker is in the network of the hub.
        for name in ["worker", "hub"] {
            self.podman(["rm", "--force", "--time=0", name]).run();
        }
        // Podman keeps its storage mounted.
        let storage = self.env.root().join("containers/storage/overlay");
        self.env.command("umount").arg(storage).run();
    }
}

fn find_on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

#[test]
fn sbom_is_valid_and_lists_what_is_linked() {
    let env = env_with_repo();
    let sbom = package("selvedge-", ".cdx.json");
    let validate = "import sys\n\
        from cyclonedx.schema import SchemaVersion\n\
        from cyclonedx.validation.json import JsonStrictValidator\n\
        error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())\n\
        sys.exit(str(error) if error else 0)\n";
    tool(&env, "python3")
        .args(["-c", validate])
        .arg(&sbom)
        .run()
        .assert_success();
    let sbom: serde_json::Value = serde_json::from_slice(&fs::read(sbom).unwrap()).unwrap();
    let components = sbom["components"].as_array().unwrap();
    let find = |name: &str| components.iter().find(|it| it["name"] == name);
    let ring = find("ring").unwrap();
    assert_eq!(ring["hashes"][0]["content"].as_str().unwrap().len(), 64);
    assert!(
        find("insta").is_none(),
        "tests are not linked into the program"
    );
    assert_eq!(sbom["metadata"]["component"]["name"], "selvedge");
}

#[test]
fn attestation_is_that_of_the_source_tree() {
    let env = env_with_repo();
    // The checkout may be another user's.
    env.git(["config", "--global", "safe.directory", "*"]);
    let statement = package("selvedge-", ".intoto.json");
    // The environment is below the checkout's build folder, and snapshots must not be in what they contain.
    let state = tempfile::tempdir().unwrap();
    let verify = env.selvedge(["attest", "verify"]).arg(&statement);
    let verify = verify.dir(repository()).env("XDG_STATE_HOME", state.path());
    verify.run().assert_success();
    let other = env.selvedge(["attest", "verify"]).arg(&statement);
    other.run().assert_code(1);
    let text = fs::read_to_string(&statement).unwrap();
    let statement: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(statement["predicate"]["outcome"], "verified", "{text}");
}

#[test]
fn formula_and_aur_file_are_filled_and_valid() {
    let env = env_with_repo();
    for name in ["selvedge.rb", "PKGBUILD"] {
        let text = fs::read_to_string(folder("index").join(name)).unwrap();
        assert!(!text.contains('@'), "{name}:\n{text}");
    }
    let aur = folder("index").join("PKGBUILD");
    // Variables that makepkg reads or sets.
    let lint = tool(&env, "shellcheck").args(["--shell=bash", "--exclude=SC2034,SC2154,SC2164"]);
    lint.arg(&aur).run().assert_success();
    let print = "source \"$1\"; echo \"$pkgname $pkgver ${source_x86_64[0]##*/} ${#sha256sums_aarch64[0]}\"";
    let out = env
        .command("bash")
        .args(["-euc", print, "bash"])
        .arg(&aur)
        .run();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        out.stdout.trim(),
        format!("selvedge-bin {version} selvedge-{version}-x86_64-unknown-linux-musl.tar.gz 64")
    );
    if Path::new("/usr/bin/ruby").exists() {
        let ruby = env
            .command("ruby")
            .arg("-c")
            .arg(folder("index").join("selvedge.rb"));
        ruby.run().assert_success();
    } else {
        eprintln!("skipped: there is no `ruby` on this machine");
    }
    if Path::new("/usr/bin/nix-instantiate").exists() {
        let nix = env
            .command("nix-instantiate")
            .arg("--parse")
            .arg(repository().join("flake.nix"));
        nix.env("NIX_STATE_DIR", env.root().join("nix"))
            .run()
            .assert_success();
    } else {
        eprintln!("skipped: there is no `nix-instantiate` on this machine");
    }
}

#[test]
fn workflows_and_templates_of_code_hosts_are_valid() {
    let env = env_with_repo();
    let root = repository();
    let files = |folder: &str, suffix: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut found: Vec<_> = paths
            .filter(|it| it.to_string_lossy().ends_with(suffix))
            .collect();
        found.sort();
        assert!(!found.is_empty(), "{folder}");
        found
    };
    let mut workflows = files(".github/workflows", ".yml");
    workflows.push(workflow_of_guide(&env));
    tool(&env, "actionlint")
        .args(&workflows)
        .dir(&root)
        .run()
        .assert_success();
    let audit =
        tool(&env, "zizmor").args(["--offline", "--quiet", "--no-progress", ".github", "action"]);
    audit.dir(&root).run().assert_success();
    let issue_forms: Vec<_> = files(".github/ISSUE_TEMPLATE", ".yml")
        .into_iter()
        .filter(|path| !path.ends_with("config.yml"))
        .collect();
    for (schema, files) in [
        ("vendor.github-workflows", workflows),
        (
            "vendor.github-actions",
            vec![root.join("action/action.yml")],
        ),
        (
            "vendor.dependabot",
            vec![root.join(".github/dependabot.yml")],
        ),
        ("vendor.github-issue-forms", issue_forms),
        (
            "vendor.github-issue-config",
            vec![root.join(".github/ISSUE_TEMPLATE/config.yml")],
        ),
        ("vendor.gitlab-ci", vec![gitlab_job(&env)]),
    ] {
        let check = tool(&env, "check-jsonschema")
            .args(["--builtin-schema", schema])
            .args(files);
        check.run().assert_success();
    }
    let scripts = files("action", ".sh");
    tool(&env, "shellcheck")
        .args(scripts)
        .run()
        .assert_success();
}

/// The workflow in the guide to CI.
fn workflow_of_guide(env: &TestEnv) -> PathBuf {
    let guide = fs::read_to_string(repository().join("docs/how-to/ci.md")).unwrap();
    let (_, workflow) = guide.split_once("   ```yaml\n").unwrap();
    let (workflow, _) = workflow.split_once("   ```\n").unwrap();
    let lines = workflow
        .lines()
        .map(|line| line.strip_prefix("   ").unwrap_or(line));
    env.write("workflow.yml", lines.collect::<Vec<_>>().join("\n"))
}

/// The job of GitLab's component, without its inputs: the schema is that of one document.
fn gitlab_job(env: &TestEnv) -> PathBuf {
    let component = fs::read_to_string(repository().join("templates/selvedge.yml")).unwrap();
    let (_, job) = component.split_once("\n---\n").unwrap();
    env.write("../gitlab-ci.yml", job)
}

#[test]
fn pre_commit_hook_refuses_what_fails() {
    let env = env_with_repo();
    // A repository with the hook alone: the hook uses the installed program.
    let hooks = env.root().join("hooks");
    fs::create_dir(&hooks).unwrap();
    fs::copy(
        repository().join(".pre-commit-hooks.yaml"),
        hooks.join(".pre-commit-hooks.yaml"),
    )
    .unwrap();
    for args in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "Hooks"],
    ] {
        env.command("git")
            .args(args)
            .dir(&hooks)
            .run()
            .assert_success();
    }
    tool(&env, "pre-commit")
        .arg("validate-manifest")
        .arg(hooks.join(".pre-commit-hooks.yaml"))
        .run()
        .assert_success();
    let programs = Path::new(env!("CARGO_BIN_EXE_selvedge"))
        .parent()
        .unwrap()
        .to_owned();
    let try_hook = || {
        let run = tool(&env, "pre-commit").arg("try-repo").arg(&hooks);
        let path = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths(
            [programs.clone()]
                .into_iter()
                .chain(std::env::split_paths(&path)),
        );
        run.args(["selvedge", "--verbose", "--all-files"])
            .env("PATH", path.unwrap())
            .run()
    };
    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"answer\"\nrun = \"grep -q 42 answer\"\n",
    );
    env.write("answer", "41\n");
    env.commit("Answer wrongly");
    let out = try_hook();
    out.assert_code(1);
    assert!(out.stdout.contains("answer"), "{out}");
    env.write("answer", "42\n");
    env.commit("Answer");
    try_hook().assert_success();
}

#[test]
fn settings_of_init_are_valid_for_editors() {
    let env = env_with_repo();
    env.write(
        "Makefile",
        "test:\n\t@echo 'TAP version 13'; echo 'ok 1 - it works'; echo 1..1\n",
    );
    env.selvedge(["init"]).run().assert_success();
    let settings = env.work_dir().join("selvedge.toml");
    let text = fs::read_to_string(&settings).unwrap();
    let schema_line = text.lines().next().unwrap();
    let address = schema_line.strip_prefix("#:schema ").unwrap();
    let path = address.split_once("/docs/schemas/").unwrap().1;
    let schema = repository().join("docs/schemas").join(path);

    let check = |file: &Path| {
        let by_schema = tool(&env, "check-jsonschema")
            .arg("--schemafile")
            .arg(&schema)
            .arg(file)
            .run();
        // The line in the file would be fetched.
        let local = text_without_schema(file);
        fs::write(env.root().join("local.toml"), local).unwrap();
        let address = format!("file://{}", schema.display());
        let by_taplo = tool(&env, "taplo")
            .args(["check", "--no-auto-config", "--schema", &address])
            .arg(env.root().join("local.toml"))
            .dir(env.root())
            .run();
        (by_schema, by_taplo)
    };
    let (by_schema, by_taplo) = check(&settings);
    by_schema.assert_success();
    by_taplo.assert_success();
    let defaults = repository().join("crates/selvedge-core/src/config/default.toml");
    let (by_schema, by_taplo) = check(&defaults);
    by_schema.assert_success();
    by_taplo.assert_success();

    let wrong = env.write("wrong.toml", "[verification]\nmax_retries = \"many\"\n");
    let (by_schema, by_taplo) = check(&wrong);
    by_schema.assert_code(1);
    by_taplo.assert_code(1);
}

fn text_without_schema(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("#:schema "));
    lines.map(|line| line.to_owned() + "\n").collect()
}

#[test]
fn clients_are_generated_from_the_openapi_document() {
    let hub = HubWithWorker::start();
    let env = &hub.env;
    let task = serde_json::json!({
        "description": "do it",
        "agent": "shell",
        "command": "echo done > out",
        "repository": env.work_dir(),
        "verification_steps": [{"type": "command", "target": "grep -q done out"}],
    });
    let document = env.root().join("openapi.json");
    let fetched = env
        .command("curl")
        .args(["-fsS", "--output"])
        .arg(&document)
        .arg(format!("{}/openapi.json", hub.url));
    fetched.run().assert_success();
    let examples = repository().join("examples/clients");
    let client = |program: Invocation| {
        let run = program
            .env("SELVEDGE_HUB", &hub.url)
            .env("SELVEDGE_TOKEN", &hub.token);
        let out = run.env("TASK", task.to_string()).run();
        out.assert_success();
        let text = out.stdout.replace(['[', ']', '\''], "").to_lowercase();
        let expected = "succeeded: verified, 1 attempts\nverified, reports: pass\n\
                        listed: true, last event: run_finished";
        assert_eq!(text.trim(), expected, "{out}");
    };
    let assert_no_warning = |generated: &CommandOutput| {
        generated.assert_success();
        let text = format!("{}{}", generated.stdout, generated.stderr).to_lowercase();
        // Formatting the result is optional.
        let text = text.replace("ruff is not in path", "");
        for word in ["warning", "unable", "failure", "error"] {
            assert!(!text.contains(word), "{generated}");
        }
    };

    let python = env.root().join("python");
    fs::create_dir(&python).unwrap();
    let generate = tool(env, "openapi-python-client")
        .args(["generate", "--meta", "none", "--path"])
        .arg(&document);
    let generate = generate
        .arg("--output-path")
        .arg(python.join("selvedge_hub_client"));
    assert_no_warning(&generate.run());
    client(
        tool(env, "python3")
            .arg(examples.join("client.py"))
            .env("PYTHONPATH", python),
    );

    // Next to the packages that it imports.
    let npm = std::env::split_paths(&std::env::var_os(PROGRAMS).unwrap())
        .next()
        .unwrap();
    let typescript = env.root().join("typescript");
    fs::create_dir(&typescript).unwrap();
    std::os::unix::fs::symlink(npm.parent().unwrap(), typescript.join("node_modules")).unwrap();
    fs::copy(examples.join("client.mts"), typescript.join("client.mts")).unwrap();
    let generate = tool(env, "openapi-typescript")
        .arg(&document)
        .args(["--output", "hub.d.ts"]);
    assert_no_warning(&generate.dir(&typescript).run());
    let compile = [
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--strict",
        "--skipLibCheck",
        "client.mts",
    ];
    tool(env, "tsc")
        .args(compile)
        .dir(&typescript)
        .run()
        .assert_success();
    client(tool(env, "node").arg(typescript.join("client.mjs")));
}

/// A hub with one worker that carries out shell tasks.
struct HubWithWorker {
    env: TestEnv,
    url: String,
    token: String,
    _programs: [selvedge_testkit::SpawnedProgram; 2],
}

impl HubWithWorker {
    fn start() -> Self {
        let env = env_with_repo();
        let token_file = env.root().join("admin.token");
        let hub = env
            .selvedge(["hub", "--listen", "127.0.0.1:0", "--admin-token-file"])
            .arg(&token_file)
            .spawn();
        hub.wait_for_stdout("listening on http");
        hub.wait_for_stdout("\n");
        let stdout = hub.stdout();
        let line = stdout
            .lines()
            .find(|line| line.contains("listening on"))
            .unwrap();
        let url = line.split_whitespace().last().unwrap().to_owned();
        let worker_token = env.root().join("worker.token");
        let add = env.selvedge([
            "tokens",
            "add",
            "workers",
            "--scope",
            "worker",
            "--hub",
            &url,
            "--token-file",
        ]);
        add.arg(&token_file)
            .arg("--out")
            .arg(&worker_token)
            .run()
            .assert_success();
        let worker = env
            .selvedge(["worker", "--name", "one", "--hub", &url, "--token-file"])
            .arg(&worker_token);
        let worker = worker
            .arg("--workdir")
            .arg(env.root().join("worker"))
            .arg("--allow-path")
            .arg(env.work_dir())
            .spawn();
        worker.wait_for_stderr("connected");
        let token = fs::read_to_string(&token_file).unwrap().trim().to_owned();
        Self {
            env,
            url,
            token,
            _programs: [hub, worker],
        }
    }
}
