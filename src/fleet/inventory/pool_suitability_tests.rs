use super::*;
use crate::fleet::{GpuNameLookup, read_fleet};
use crate::text::source::{SourceText, Sources};

fn fleet(text: &str) -> Fleet {
    let text = SourceText::new("fleet.toml", text.to_owned());
    let source = Sources::default().add(text.clone());
    read_fleet(source, &text, &|_| GpuNameLookup::Known).expect("a fleet")
}

fn is_suitable(pool: &str, key: &str, holds: LabelCondition) -> bool {
    let fleet = fleet(&format!("[[pool]]\nname = \"p\"\n{pool}\n"));
    let nodes = NodeRequirements(vec![vec![NodeRequirement { key: key.to_owned(), holds }]]);
    can_schedule_on_pool(&nodes, &fleet.pools[0], &fleet, Knowledge::built_in())
}

fn holds_in(values: &[&str]) -> LabelCondition {
    LabelCondition::In(values.iter().map(|value| (*value).to_owned()).collect())
}

fn holds_not_in(values: &[&str]) -> LabelCondition {
    LabelCondition::NotIn(values.iter().map(|value| (*value).to_owned()).collect())
}

const PRODUCT: &str = "nvidia.com/gpu.product";

#[test]
fn a_slice_is_offered_where_the_gpu_can_be_divided_in_this_way() {
    let slice =
        |pool: &str, profile: &str| is_suitable(pool, &format!("nvidia.com/mig-{profile}"), LabelCondition::Exists);
    for pool in [
        "gpu = \"H100\"",
        "gpu = \"A100-SXM4-80GB\"",
        "gpu = { name = \"H100\", mig = true }",
        "gpu = { name = \"H100\", mig = \"1g.10gb\" }",
        "gpu = [\"A30\", \"A100-SXM4-40GB\"]",
        "gpu = \"A100\"",
        "gpu = { name = \"Ours\", compute_capability = \"9.0\" }",
        "gpu = \"Ours\"",
        "driver = \"535.161.08\"",
    ] {
        assert!(slice(pool, "1g.10gb") && slice(pool, "1g.10gb.shared"), "{pool}");
    }
    for pool in [
        "gpu = \"T4\"",
        "gpu = \"Tesla V100-SXM2-16GB\"",
        "gpu = \"L40S\"",
        "gpu = \"RTX 5090\"",
        "gpu = [\"T4\", \"L4\"]",
        "gpu = { name = \"H100\", mig = \"2g.20gb\" }",
        "gpu = { name = \"H100\", mig = \"1g.10gb+me\" }",
        "gpu = { name = \"Ours\", compute_capability = \"8.6\" }",
        "gpu = \"Ours\"\ncompute_capability = \"7.0\"",
        "gpu = \"A30\"",
        "gpu = [\"A30\", \"H200\"]",
        "gpu = \"H100 NVL\"",
        "gpu = { name = \"B200\", mig = true }",
        "gpu = { name = \"GH200 480GB\", mig = true }",
        "gpu = \"RTX PRO 6000 Blackwell Server Edition\"",
    ] {
        assert!(!slice(pool, "1g.10gb"), "{pool}");
    }
    assert!(slice("gpu = { name = \"H100\", mig = \"1g.10gb+me\" }", "1g.10gb.me"));
    for (gpu, profile, expected) in [
        ("A30", "2g.12gb.me", true),
        ("A30", "3g.40gb", false),
        ("A100-SXM4-40GB", "3g.20gb", true),
        ("A100-SXM4-40GB", "3g.40gb", false),
        ("A100-SXM4-80GB", "3g.20gb", false),
        ("H200", "3g.71gb", true),
        ("H200", "3g.40gb", false),
        ("H100", "3g.47gb", true),
        ("H100", "3g.71gb", false),
        // A short name may be either, and a board that the table does not have says nothing.
        ("A100", "3g.20gb", true),
        ("A100", "3g.40gb", true),
        ("A100", "3g.71gb", false),
        ("PG506-232", "3g.71gb", true),
        // Nor does what is no profile.
        ("A30", "of-ours", true),
    ] {
        assert_eq!(slice(&format!("gpu = \"{gpu}\""), profile), expected, "{gpu} {profile}");
    }
}

#[test]
fn a_product_is_compared_with_the_gpu_of_a_pool_and_a_short_name_leaves_it_open() {
    for (pool, value, expected) in [
        ("gpu = \"T4\"", "Tesla-T4", true),
        ("gpu = \"T4\"", "Tesla-T4-SHARED", true),
        ("gpu = \"T4\"", "NVIDIA-T4G", false),
        ("gpu = \"A100\"", "A100-SXM4-40GB", true),
        ("gpu = \"A100\"", "NVIDIA-A100-SXM4-80GB", true),
        ("gpu = \"A100\"", "A100-SXM4-40GB-MIG-1g.5gb", true),
        ("gpu = \"A100-SXM4-80GB\"", "A100-SXM4-40GB", false),
        ("gpu = \"A100\"", "NVIDIA-H100-80GB-HBM3", false),
        ("gpu = \"H100\"", "NVIDIA-H100-80GB-HBM3", true),
        ("gpu = \"H100 NVL\"", "NVIDIA-H100-80GB-HBM3", false),
        ("gpu = \"L4\"", "NVIDIA-L40S", false),
        ("gpu = [\"L4\", \"L40S\"]", "NVIDIA-L40S", true),
        ("driver = \"535.161.08\"", "NVIDIA-L40S", true),
    ] {
        assert_eq!(is_suitable(pool, PRODUCT, holds_in(&[value])), expected, "{pool} {value}");
    }
    for (pool, value, expected) in [
        ("gpu = \"Tesla T4\"", "Tesla-T4", false),
        ("gpu = \"T4\"", "Tesla-T4", false),
        ("gpu = \"T4\"", "Tesla-T4-SHARED", true),
        ("gpu = \"A100\"", "A100-SXM4-40GB", true),
        ("gpu = [\"T4\", \"L4\"]", "Tesla-T4", true),
    ] {
        assert_eq!(is_suitable(pool, PRODUCT, holds_not_in(&[value])), expected, "not {pool} {value}");
    }
    assert!(!is_suitable("gpu = \"T4\"", PRODUCT, LabelCondition::Above(1)));
    assert!(is_suitable("gpu = \"T4\"", "cloud.google.com/gke-accelerator", holds_in(&["nvidia-tesla-t4"])));
    assert!(!is_suitable("gpu = \"L4\"", "cloud.google.com/gke-accelerator", holds_in(&["nvidia-tesla-t4"])));
}

#[test]
fn driver_label_is_compared_with_the_declared_part() {
    const MAJOR: &str = "nvidia.com/cuda.driver.major";
    for (pool, key, holds, expected) in [
        ("driver = \"550.107.02\"", DRIVER_LABEL, holds_in(&["550.107.02"]), true),
        ("driver = \"550.107.02\"", DRIVER_LABEL, holds_in(&["550.107.03"]), false),
        ("driver = \"550.107.02\"", DRIVER_LABEL, holds_not_in(&["550.107.02"]), false),
        ("driver = \"550\"", DRIVER_LABEL, holds_in(&["550.107.02"]), true),
        ("driver = \"550\"", DRIVER_LABEL, holds_not_in(&["550.107.02"]), true),
        ("driver = \">=535.161,<560\"", DRIVER_LABEL, holds_in(&["550.107.02"]), true),
        ("driver = \">=535.161,<560\"", DRIVER_LABEL, holds_in(&["535.54.03"]), false),
        ("driver = \">=535.161,<560\"", MAJOR, LabelCondition::Above(555), true),
        ("driver = \">=535.161,<560\"", MAJOR, LabelCondition::Above(559), false),
        ("driver = \">=535.161,<560.35\"", MAJOR, LabelCondition::Above(559), true),
        ("driver = \">=535.161\"", MAJOR, LabelCondition::Below(535), false),
        ("driver = \"550\"", MAJOR, holds_in(&["550"]), true),
        ("driver = \"550\"", MAJOR, LabelCondition::Above(550), false),
        ("driver = \"550\"", "nvidia.com/cuda.driver-version.minor", holds_in(&["54"]), true),
        ("driver = \"550.107.02\"", "nvidia.com/cuda.driver-version.revision", holds_in(&["02"]), true),
        ("driver = \"550.107.02\"", "nvidia.com/cuda.driver.rev", holds_in(&["2"]), false),
        ("driver = [\"470\", \"550\"]", MAJOR, holds_in(&["550", "560"]), true),
        ("driver = [\"470\", \"550\"]", MAJOR, holds_in(&["535"]), false),
        ("driver = \"550\"", "nvidia.com/cuda.runtime.major", holds_in(&["12"]), true),
        ("driver = \"470\"", "nvidia.com/cuda.runtime-version.major", LabelCondition::Above(11), false),
        ("gpu = \"T4\"", MAJOR, holds_in(&["550"]), true),
    ] {
        assert_eq!(is_suitable(pool, key, holds.clone()), expected, "{pool} {key} {holds:?}");
    }
}

#[test]
fn gpu_labels_are_compared_with_declared_pool_fields() {
    const MEMORY: &str = "nvidia.com/gpu.memory";
    for (pool, key, holds, expected) in [
        ("gpu = \"A100-SXM4-80GB\"", MEMORY, LabelCondition::Above(40_000), true),
        ("gpu = \"A100-SXM4-40GB\"", MEMORY, LabelCondition::Above(41_000), false),
        ("gpu = \"A100-SXM4-40GB\"", MEMORY, holds_in(&["40536"]), true),
        ("gpu = \"A100\"", MEMORY, LabelCondition::Above(41_000), true),
        ("gpu = \"T4\"", "nvidia.com/gpu.compute.major", LabelCondition::Above(7), false),
        ("gpu = \"T4\"", "nvidia.com/gpu.compute.minor", holds_in(&["5"]), true),
        ("gpu = \"L4\"", FAMILY_LABEL, holds_in(&["ada-lovelace"]), true),
        ("gpu = \"L4\"", FAMILY_LABEL, holds_not_in(&["ada-lovelace", "hopper"]), false),
        ("gpu = \"L4\"", FAMILY_LABEL, holds_in(&["ampere"]), false),
        ("gpu = { name = \"A100\", count = 8 }", "nvidia.com/gpu.count", LabelCondition::Above(4), true),
        ("gpu = { name = \"A100\", count = 4 }", "nvidia.com/gpu.count", LabelCondition::Above(4), false),
        ("gpu = \"A100\"", "nvidia.com/gpu.count", LabelCondition::Above(4), true),
        ("gpu = \"T4\"", "kubernetes.io/arch", holds_in(&["arm64"]), false),
        ("gpu = \"T4\"\nplatform = \"linux/arm64\"", "kubernetes.io/arch", holds_in(&["arm64"]), true),
        ("gpu = \"T4\"", "kubernetes.io/os", holds_in(&["windows"]), false),
        ("gpu = \"T4\"", "nvidia.com/gpu.present", holds_in(&["true"]), true),
        ("gpu = \"T4\"", "nvidia.com/gpu.present", holds_in(&["false"]), false),
        ("gpu = \"T4\"", INSTANCE_TYPE_LABELS[0], holds_in(&["g4dn.xlarge"]), true),
        ("gpu = \"L4\"", INSTANCE_TYPE_LABELS[0], holds_in(&["g4dn.xlarge"]), false),
        ("gpu = \"L4\"", INSTANCE_TYPE_LABELS[0], holds_in(&["own.metal"]), true),
        ("gpu = \"L4\"", "example.com/tier", holds_in(&["a"]), true),
        ("gpu = \"L4\"\nlabels = { \"example.com/tier\" = \"b\" }", "example.com/tier", holds_in(&["a"]), false),
        // Declared labels of a pool take precedence over derived ones.
        ("gpu = \"L4\"\nlabels = { \"nvidia.com/gpu.product\" = \"X\" }", PRODUCT, holds_in(&["X"]), true),
        ("gpu = \"L4\"\nlabels = { \"nvidia.com/gpu.product\" = \"X\" }", PRODUCT, holds_in(&["NVIDIA-L4"]), false),
    ] {
        assert_eq!(is_suitable(pool, key, holds.clone()), expected, "{pool} {key} {holds:?}");
    }
}

#[test]
fn label_declared_by_another_pool_is_absent_unless_derivable() {
    let fleet = fleet(
        "[[pool]]\nname = \"a\"\ngpu = \"L4\"\n[[pool]]\nname = \"b\"\n\
         labels = { tier = \"x\", \"nvidia.com/gpu.product\" = \"Tesla-T4\" }\n",
    );
    let may = |key: &str, holds: LabelCondition| {
        let nodes = NodeRequirements(vec![vec![NodeRequirement { key: key.to_owned(), holds }]]);
        let on = |pool| can_schedule_on_pool(&nodes, pool, &fleet, Knowledge::built_in());
        fleet.pools.iter().map(on).collect::<Vec<_>>()
    };
    assert_eq!(may("tier", holds_in(&["x"])), [false, true]);
    assert_eq!(may("tier", LabelCondition::DoesNotExist), [true, false]);
    assert_eq!(may(PRODUCT, holds_in(&["NVIDIA-L4"])), [true, false]);
    assert_eq!(may(PRODUCT, holds_in(&["Tesla-T4"])), [false, true]);
    assert!(can_schedule_on_pool(&NodeRequirements::default(), &fleet.pools[0], &fleet, Knowledge::built_in()));
}
