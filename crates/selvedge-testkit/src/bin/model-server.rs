//! Serves a script from a JSON file until it is killed, for end-to-end tests written in shell:
//! `model-server script.json`. The first line on stdout is the URL, followed by each request as it
//! arrives, one JSON object per line.

use std::error::Error;
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::time::Duration;

use selvedge_testkit::{ModelScript, ModelServer};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map(PathBuf::from);
    let path = path.ok_or("usage: model-server script.json")?;
    let script: ModelScript = serde_json::from_slice(&std::fs::read(path)?)?;
    let server = ModelServer::start(script);
    writeln!(stdout(), "{}", server.url())?;
    for index in 0.. {
        let request = server
            .wait_for_request(index, Duration::MAX)
            .ok_or("no more requests")?;
        writeln!(stdout(), "{}", serde_json::to_string(&request)?)?;
    }
    Ok(())
}
