use super::*;
use crate::replay::pool_verdicts;
use crate::replay::step_tests::{image_from_description, pool_hosts};

/// Name of the pool in every test.
const POOL: &str = "p";

/// Returns the steps that have such a result on a listed host.
fn steps_with_result(pairs: &[(&ImageFacts, &Host)], is_bad: impl Fn(StepResult) -> bool) -> BTreeSet<StartStep> {
    let list = pool_verdicts(pairs, Knowledge::built_in());
    let steps = list[0].hosts.iter().flat_map(|host| &host.steps);
    steps.filter(|step| is_bad(step.result)).map(|step| step.step).collect()
}

/// Whether a result is neither passed nor not applicable.
fn does_not_pass(result: StepResult) -> bool {
    !matches!(result, StepResult::Passes(_) | StepResult::NotApplicable)
}

/// Returns images with frameworks and with listed code, some of which fail.
fn sample_images() -> Vec<ImageFacts> {
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
    texts.iter().map(|text| image_from_description(text)).collect()
}

/// An undecided image is undecided by the verdicts on all hosts, in any order of tests; a pool with few hosts never
/// is.
#[test]
fn undecided_images_are_undecided_on_all_hosts() {
    let knowledge = Knowledge::built_in();
    let images = sample_images();
    let (mut undecided, mut others) = (0, 0);
    for fields in [
        "driver = \"525.60.13\"\ngpu = [\"T4\", \"L4\", \"B200\", \"NVIDIA H100 80GB HBM3\", \"Tesla P100\"]\n",
        "driver = [\"470.182.03\", \"535.161.08\", \"580.95.05\"]\nlaunch = \"kubernetes\"\ntoolkit = \"1.17.8\"\n",
        "gpu = \"T4\"\ndriver = \"525.60.13\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n",
    ] {
        let hosts = pool_hosts(fields);
        let mut first = Vec::new();
        for image in images.iter().chain(&images) {
            let pairs: Vec<_> = hosts.iter().map(|host| (image, host)).collect();
            let list = pool_verdicts(&pairs, knowledge);
            let of = |name: &str| list.iter().find(|verdict| verdict.component == Some(name)).and_then(|one| one.fate);
            let names = judged_components(&pairs);
            let fails = names.iter().any(|name| matches!(of(name), Some(StartupResult::Fails(_))));
            let unsettled = names.iter().any(|name| matches!(of(name), None | Some(StartupResult::Undetermined)));
            let open = is_undecided(&pairs, &names, &mut ReplayCache::default(), &mut first, knowledge);
            let wide = pairs.len() > MAX_LISTED_HOSTS;
            assert_eq!(open, wide && unsettled && !fails, "{fields}");
            undecided += usize::from(open);
            others += usize::from(!open);
        }
    }
    assert!(undecided > 5 && others > 10, "{undecided} {others}");
}

/// An unreachable goal is missed by the verdicts on all hosts, in any order of tests; many goals are unreachable.
#[test]
fn unreachable_goals_are_missed_on_all_hosts() {
    let knowledge = Knowledge::built_in();
    let images = sample_images();
    let (mut hopeless, mut hopeful) = (0, 0);
    for fields in [
        "driver = \"525.60.13\"\ngpu = [\"T4\", \"L4\", \"B200\", \"NVIDIA H100 80GB HBM3\", \"Tesla P100\"]\n",
        "driver = [\"470.182.03\", \"535.161.08\", \"580.95.05\"]\nlaunch = \"kubernetes\"\ntoolkit = \"1.17.8\"\n",
        "gpu = [\"T4\", \"NVIDIA GeForce RTX 3090\", \"B200\"]\ndriver = \"570.86.15\"\nlaunch = \"docker-gpus\"\n",
    ] {
        let hosts = pool_hosts(fields);
        for before in &images {
            let pairs = |image| hosts.iter().map(move |host| (image, host)).collect::<Vec<_>>();
            let sought = steps_with_result(&pairs(before), does_not_pass);
            let mut doubts = ImprovementGoals::default();
            doubts.set_goal(POOL, ImprovementGoal::Better(sought.clone()));
            // Twice, so that the second time others are remembered.
            for after in images.iter().chain(&images) {
                let pairs = pairs(after);
                let list = pool_verdicts(&pairs, knowledge);
                let starts = matches!(list[0].fate, Some(StartupResult::Starts(_)));
                let now = steps_with_result(&pairs, does_not_pass);
                let stops = steps_with_result(&pairs, |result| matches!(result, StepResult::Stops(_)));
                let better = starts || (!sought.is_subset(&now) && stops.is_subset(&sought));
                if doubts.is_unreachable(POOL, &pairs, &mut ReplayCache::default(), knowledge) {
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

/// Where every host fails, the only goal is that one does not.
#[test]
fn an_unreachable_start_fails_on_every_host() {
    let knowledge = Knowledge::built_in();
    let hosts =
        pool_hosts("driver = [\"470.182.03\", \"580.95.05\"]\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n");
    let mut doubts = ImprovementGoals::default();
    doubts.set_goal(POOL, ImprovementGoal::Somewhere);
    let mut results = Vec::new();
    for image in sample_images().iter().chain(&sample_images()) {
        let pairs: Vec<_> = hosts.iter().map(|host| (image, host)).collect();
        let list = pool_verdicts(&pairs, knowledge);
        let fails = matches!(list[0].fate, Some(StartupResult::Fails(_)));
        let hopeless = doubts.is_unreachable(POOL, &pairs, &mut ReplayCache::default(), knowledge);
        assert!(!hopeless || fails, "{:?}", list[0].fate);
        results.push(hopeless);
    }
    assert!(results.contains(&true) && results.contains(&false), "{results:?}");
}

#[test]
fn nothing_is_unreachable_without_a_goal_or_hosts() {
    let knowledge = Knowledge::built_in();
    let (image, hosts) = (&sample_images()[7], pool_hosts("launch = \"docker-gpus\"\n"));
    let pairs: Vec<_> = hosts.iter().map(|host| (image, host)).collect();
    let mut doubts = ImprovementGoals::default();
    assert!(!doubts.is_unreachable(POOL, &pairs, &mut ReplayCache::default(), knowledge));
    for sought in [ImprovementGoal::Somewhere, ImprovementGoal::Better(BTreeSet::new())] {
        doubts.set_goal(POOL, sought);
        assert!(!doubts.is_unreachable(POOL, &[], &mut ReplayCache::default(), knowledge));
    }
    assert!(!doubts.is_unreachable("q", &pairs, &mut ReplayCache::default(), knowledge));
}
