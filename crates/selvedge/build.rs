//! Links the program at a fixed address on Linux. Each check starts it twice more, as the supervisor of the check's
//! processes and as the sandbox's init process, and at a variable address the loader first has to rewrite hundreds of
//! thousands of pointers: 5 ms of 7 ms in a development build. Published builds for musl are linked that way already.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
