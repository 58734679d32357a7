//! The verdicts on an image for a pool with a new driver, and for one with an older driver and a GPU without forward
//! compatibility.

use serde_json::Value;

use crate::support::test_repository::TestRepository;

/// A new driver, and an older one under a GPU without forward compatibility.
pub(crate) const NEW_AND_OLD: &str = "[[pool]]\nname = \"new\"\ngpu = \"A100\"\ndriver = \"570.86.15\"\nplatform = \"linux/amd64\"\n\
    launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n\n[[pool]]\nname = \"geforce\"\ngpu = \"GeForce RTX 4090\"\n\
    driver = \"535.161.08\"\nplatform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n";

/// The verdict on an image for each pool: the pool, the fate and the outcome.
pub(crate) fn verdicts_by_pool(repository: &TestRepository, input: &str) -> Vec<(String, String, String)> {
    let report = repository.json(&["check", input]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let verdicts = report["subjects"][0]["verdicts"].as_array().cloned().unwrap_or_default();
    let whole = verdicts.iter().filter(|one| one["component"].is_null());
    whole.map(|one| (text(&one["pool"]), text(&one["fate"]), text(&one["outcome"]))).collect()
}
