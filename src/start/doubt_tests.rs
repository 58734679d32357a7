use super::*;
use crate::start::step_tests::hosts;
use crate::start::step_tests::image;
use crate::start::verdicts;

const POOL: &str = "p";

/// The worst end of each step over the hosts that tell a verdict: none where it passes on all.
fn bad(pairs: &[(&ImageFacts, &Host)], is_bad: impl Fn(StepResult) -> bool) -> BTreeSet<Step> {
    let list = verdicts(pairs, Knowledge::built_in());
    let steps = list[0].hosts.iter().flat_map(|host| &host.steps);
    steps.filter(|step| is_bad(step.result)).map(|step| step.step).collect()
}

fn does_not_pass(result: StepResult) -> bool {
    !matches!(result, StepResult::Passes(_) | StepResult::NotApplicable)
}

fn images() -> Vec<ImageFacts> {
    let whole = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n";
    let torch = |version: &str, more: &str| format!("{more}[packages.pip]\ntorch = \"{version}\"\n");
    let own = |sass: &str, env: &str| {
        format!("cuda_runtime = \"12.4\"\n{whole}[env]\n{env}\n[[gpu_code]]\nsass = [{sass}]\nptx = []\n")
    };
    let all = "NVIDIA_VISIBLE_DEVICES = \"all\"";
    let texts = [
        torch("2.6.0", ""),
        torch("2.6.0+cu118", "base = \"python:3.11-slim\"\n"),
        torch("2.7.0", "base = \"nvidia/cuda:12.8.1-runtime-ubuntu22.04\"\n"),
        torch("1.12.1+cu113", ""),
        torch("2.9.0", "base = \"nvidia/cuda:11.8.0-base-ubuntu22.04\"\n"),
        own("\"sm_50\", \"sm_80\", \"sm_90\"", all),
        own("\"sm_50\", \"sm_80\", \"sm_90\"", "NVIDIA_VISIBLE_DEVICES = \"void\""),
        own("\"sm_75\"", all),
        own("\"sm_75\"", &format!("{all}\nNVIDIA_REQUIRE_CUDA = \"brand=tesla\"")),
        own("\"sm_90\"", &format!("{all}\nNVIDIA_REQUIRE_CUDA = \"cuda>=13.0\"")),
    ];
    texts.iter().map(|text| image(text)).collect()
}

/// What is called open is open by the verdicts of all hosts, whatever was asked before; much is told so, and of a pool with
/// few hosts nothing.
#[test]
fn what_is_open_is_open_on_all_hosts() {
    let knowledge = Knowledge::built_in();
    let images = images();
    let (mut told_open, mut others) = (0, 0);
    for fields in [
        "driver = \"525.60.13\"\ngpu = [\"T4\", \"L4\", \"B200\", \"NVIDIA H100 80GB HBM3\", \"Tesla P100\"]\n",
        "driver = [\"470.182.03\", \"535.161.08\", \"580.95.05\"]\nlaunch = \"kubernetes\"\ntoolkit = \"1.17.8\"\n",
        "gpu = \"T4\"\ndriver = \"525.60.13\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n",
    ] {
        let hosts = hosts(fields);
        let mut first = Vec::new();
        for image in images.iter().chain(&images) {
            let pairs: Vec<_> = hosts.iter().map(|host| (image, host)).collect();
            let list = verdicts(&pairs, knowledge);
            let of = |name: &str| list.iter().find(|verdict| verdict.component == Some(name)).and_then(|one| one.fate);
            let names = names(&pairs);
            let fails = names.iter().any(|name| matches!(of(name), Some(Fate::Fails(_))));
            let unsettled = names.iter().any(|name| matches!(of(name), None | Some(Fate::Undetermined)));
            let open = is_open(&pairs, &names, &mut Shared::default(), &mut first, knowledge);
            let wide = pairs.len() > FEW;
            assert_eq!(open, wide && unsettled && !fails, "{fields}");
            told_open += usize::from(open);
            others += usize::from(!open);
        }
    }
    assert!(told_open > 5 && others > 10, "{told_open} {others}");
}

/// What is called hopeless is no better by the verdicts of all hosts, whatever was asked before; and much is told so.
#[test]
fn what_is_hopeless_is_no_better_on_all_hosts() {
    let knowledge = Knowledge::built_in();
    let images = images();
    let (mut hopeless, mut hopeful) = (0, 0);
    for fields in [
        "driver = \"525.60.13\"\ngpu = [\"T4\", \"L4\", \"B200\", \"NVIDIA H100 80GB HBM3\", \"Tesla P100\"]\n",
        "driver = [\"470.182.03\", \"535.161.08\", \"580.95.05\"]\nlaunch = \"kubernetes\"\ntoolkit = \"1.17.8\"\n",
        "gpu = [\"T4\", \"NVIDIA GeForce RTX 3090\", \"B200\"]\ndriver = \"570.86.15\"\nlaunch = \"docker-gpus\"\n",
    ] {
        let hosts = hosts(fields);
        for before in &images {
            let pairs = |image| hosts.iter().map(move |host| (image, host)).collect::<Vec<_>>();
            let sought = bad(&pairs(before), does_not_pass);
            let mut doubts = Doubts::default();
            doubts.seek(POOL, Sought::Better(sought.clone()));
            // Twice, so that the second time others are remembered.
            for after in images.iter().chain(&images) {
                let pairs = pairs(after);
                let list = verdicts(&pairs, knowledge);
                let starts = matches!(list[0].fate, Some(Fate::Starts(_)));
                let now = bad(&pairs, does_not_pass);
                let stops = bad(&pairs, |result| matches!(result, StepResult::Stops(_)));
                let better = starts || (!sought.is_subset(&now) && stops.is_subset(&sought));
                if doubts.is_hopeless(POOL, &pairs, &mut Shared::default(), knowledge) {
                    assert!(!better, "{fields}: {sought:?} {now:?}");
                    hopeless += 1;
                } else if better {
                    hopeful += 1;
                }
            }
        }
    }
    assert!(hopeless > 100 && hopeful > 20, "{hopeless} {hopeful}");
}

/// Where every host fails nothing else is sought than one that does not.
#[test]
fn all_hosts_fail_or_it_is_not_hopeless() {
    let knowledge = Knowledge::built_in();
    let hosts = hosts("driver = [\"470.182.03\", \"580.95.05\"]\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n");
    let mut doubts = Doubts::default();
    doubts.seek(POOL, Sought::Somewhere);
    let mut told = Vec::new();
    for image in images().iter().chain(&images()) {
        let pairs: Vec<_> = hosts.iter().map(|host| (image, host)).collect();
        let list = verdicts(&pairs, knowledge);
        let fails = matches!(list[0].fate, Some(Fate::Fails(_)));
        let hopeless = doubts.is_hopeless(POOL, &pairs, &mut Shared::default(), knowledge);
        assert!(!hopeless || fails, "{:?}", list[0].fate);
        told.push(hopeless);
    }
    assert!(told.contains(&true) && told.contains(&false), "{told:?}");
}

#[test]
fn nothing_is_said_of_a_pool_on_which_nothing_is_sought_nor_of_no_host() {
    let knowledge = Knowledge::built_in();
    let (image, hosts) = (&images()[7], hosts("launch = \"docker-gpus\"\n"));
    let pairs: Vec<_> = hosts.iter().map(|host| (image, host)).collect();
    let mut doubts = Doubts::default();
    assert!(!doubts.is_hopeless(POOL, &pairs, &mut Shared::default(), knowledge));
    for sought in [Sought::Somewhere, Sought::Better(BTreeSet::new())] {
        doubts.seek(POOL, sought);
        assert!(!doubts.is_hopeless(POOL, &[], &mut Shared::default(), knowledge));
    }
    assert!(!doubts.is_hopeless("q", &pairs, &mut Shared::default(), knowledge));
}
