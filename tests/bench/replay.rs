//! How long the replay takes: 1,000 images on 200 hosts, compared with a simple replay of fewer rules.
//!
//! `cargo bench --bench replay` prints the figures; with `--test` it runs a tenth of them and is quick.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../support/random_images.rs"]
mod random_images;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use imagelint::fleet::Host;
use imagelint::knowledge::Knowledge;
use imagelint::model::fact::ImageFacts;
use imagelint::replay::{DiscardingRecorder, FullRecorder, Replay, replay};

/// Of so many pairs one is recorded.
const RECORDED: usize = 10;
/// No more time than this is meant to pass, unless it is a quick run.
const MARK: Duration = Duration::from_secs(1);
/// The fastest of so many rounds counts.
const ROUNDS: usize = 3;

fn main() {
    let quick = std::env::args().any(|word| word == "--test");
    let (images, hosts) = if quick { (100, 50) } else { (1_000, 200) };
    let images: Vec<ImageFacts> = random_images::images(1, images).iter().map(random_images::ImageSpec::read).collect();
    let hosts: Vec<Host> = random_images::hosts(2, hosts).iter().map(random_images::HostSpec::read).collect();
    let pairs = images.len() * hosts.len();
    let own = fastest(|| own(&images, &hosts));
    let naive = fastest(|| naive(&images, &hosts));
    let each = own.as_secs_f64() * 1e9 / f64::from(u32::try_from(pairs).expect("a small number"));
    println!("{} images x {} hosts, one of {RECORDED} pairs recorded", images.len(), hosts.len());
    println!("replay      {:>8.1} ms  ({each:.0} ns a pair)", own.as_secs_f64() * 1e3);
    if !quick {
        println!("mark        {:>8.1} ms  ({})", MARK.as_secs_f64() * 1e3, if own < MARK { "held" } else { "MISSED" });
    }
    println!("naive peer  {:>8.1} ms", naive.as_secs_f64() * 1e3);
    println!("replay / naive peer  {:.2}", own.as_secs_f64() / naive.as_secs_f64());
}

fn fastest(mut run: impl FnMut() -> usize) -> Duration {
    let times = (0..ROUNDS).map(|_| {
        let begun = Instant::now();
        black_box(run());
        begun.elapsed()
    });
    times.min().unwrap_or_default()
}

/// Every component of every image on every host.
fn own(images: &[ImageFacts], hosts: &[Host]) -> usize {
    let knowledge = Knowledge::built_in();
    let (mut at, mut told) = (0, 0);
    for image in images {
        for host in hosts {
            at += 1;
            for component in &image.components {
                let one = Replay::new(image, component, host, knowledge);
                if at % RECORDED == 0 {
                    let mut steps = FullRecorder::default();
                    black_box(replay(one, &mut steps));
                    told += steps.0.len();
                } else {
                    black_box(replay(one, &mut DiscardingRecorder));
                }
            }
        }
    }
    told
}

/// What a script would do: put the environment together, compare the CUDA versions, look for the GPU's code.
fn naive(images: &[ImageFacts], hosts: &[Host]) -> usize {
    let mut fails = 0;
    for image in images {
        for host in hosts {
            for component in &image.components {
                let env: BTreeMap<String, String> = image
                    .env
                    .with_prefix("")
                    .filter_map(|(name, fact)| Some((name.to_owned(), fact.known()?.clone())))
                    .chain(host.env.iter().map(|(name, value)| (name.clone(), value.clone())))
                    .collect();
                let devices = env.get("NVIDIA_VISIBLE_DEVICES").is_some_and(|value| value != "void");
                let driver = host.driver_cuda.zip(component.cuda.known().copied());
                let old = driver.is_some_and(|(driver, runtime)| driver < runtime);
                let listed = image.facts.get(component.code.id);
                let gpu = host.gpu.as_ref().and_then(|gpu| gpu.capability);
                let code = gpu.map(|gpu| format!("sm_{}{}", gpu.major, gpu.minor));
                let found = code.is_some_and(|code| format!("{:?}", listed.state).contains(&code));
                fails += usize::from(!devices || old || !found);
            }
        }
    }
    fails
}
