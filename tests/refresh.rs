//! The refresh of measured tables tests itself, offline; here it is run where Python 3.11 or later is at hand.

use std::path::Path;
use std::process::Command;

fn python_is_new_enough() -> bool {
    let done = Command::new("python3").args(["-c", "import tomllib"]).output();
    done.is_ok_and(|done| done.status.success())
}

#[test]
fn the_refresh_passes_its_own_check_and_knows_its_distributions() {
    if !python_is_new_enough() {
        println!("not run: no Python 3.11");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/refresh");
    let run = |argument: &str| Command::new("python3").arg(&script).arg(argument).output().expect("a run");
    let done = run("--self-check");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "self-check passed\n");
    let done = run("no-such-distribution");
    assert!(!done.status.success());
    assert!(String::from_utf8_lossy(&done.stderr).contains("no reader for no-such-distribution"));
}
