//! The Model Context Protocol's official client for Python as the caller of `selvedge mcp`: `mcp_client.py` beside this
//! file. The package is installed with an agent that uses it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use selvedge_testkit::TestEnv;

use crate::fixtures::program;

const AGENT: &str =
    "#!/bin/sh\ncase \"$(cat)\" in *Wait*) exec sleep 600 ;; esac\necho good > out\n";

#[test]
fn mcp_official_client_can_use_the_server() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    let agent = env.write("../agent.sh", AGENT);
    std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).unwrap();
    env.write(
        "../config/selvedge/config.toml",
        format!(
            "agent = \"mine\"\nverification.baseline = \"off\"\n\
             [agents.mine]\nkind = \"command\"\nprogram = [\"{}\"]\n",
            env.root().join("agent.sh").display()
        ),
    );
    env.write("selvedge.toml", "[[checks]]\nrun = \"test -s out\"\n");
    env.create_repo();
    let python = program("mini").with_file_name("python3");
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/mcp_client.py");
    let run = env.command(python).arg(client);
    let run = run.arg(env!("CARGO_BIN_EXE_selvedge")).arg(env.work_dir());
    run.run().assert_code(0);
}
