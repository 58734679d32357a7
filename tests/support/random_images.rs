//! Random images and hosts with fixed seeds for the benchmark and the property tests, read like any other input.

use std::fmt::Write as _;

use imagelint::describe::ImageDescription;
use imagelint::fleet::{GpuNameLookup, Host};
use imagelint::infer::infer_image_facts;
use imagelint::knowledge::Knowledge;
use imagelint::model::fact::ImageFacts;
use imagelint::text::source::{SourceText, Sources};
use imagelint::{extract, fleet};

/// Numbers that look random and are the same in every run (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct SeededRandom(u64);

impl SeededRandom {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % u64::try_from(end.max(1)).expect("a length")).expect("below a length")
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    pub(crate) fn one<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// The entries that were drawn, in their order.
    pub(crate) fn some<T: Clone>(&mut self, list: &[T], share: usize) -> Vec<T> {
        list.iter().filter(|_| self.percent(share)).cloned().collect()
    }
}

const CUDA: &[&str] = &[
    "9.2", "10.0", "10.1", "10.2", "11.0", "11.1", "11.3", "11.4", "11.6", "11.7", "11.8", "12.0", "12.1", "12.4",
    "12.6", "12.8", "12.9", "13.0",
];
const TARGETS: &[&str] =
    &["37", "50", "52", "60", "61", "70", "75", "80", "86", "89", "90", "90a", "100", "100f", "103", "120", "120a"];
const TORCH: &[&str] = &[
    "1.8.1+cu111",
    "1.9.0+cu102",
    "1.12.1+cu102",
    "1.12.1+cu113",
    "1.13.1+cu117",
    "2.0.1+cu118",
    "2.1.2+cu121",
    "2.4.1+cu124",
    "2.6.0+cu126",
    "2.7.1+cu128",
    "2.9.0+cu130",
    "1.13.1+cpu",
    "2.4.1+cpu",
    "2.9.0+cpu",
];
/// CUDA and version of a compat library.
const COMPAT: &[(&str, &str)] = &[
    ("11.2", "460.32.03"),
    ("11.4", "470.57.02"),
    ("11.7", "515.65.01"),
    ("11.8", "520.61.05"),
    ("12.1", "530.30.02"),
    ("12.2", "535.104.05"),
    ("12.4", "550.54.15"),
    ("12.8", "570.86.15"),
    ("12.9", "575.57.08"),
    ("13.0", "580.65.06"),
];
const REQUIRE: &[&str] = &[
    "cuda>=9.0",
    "cuda>=11.0 brand=tesla,driver>=418,driver<419 driver>=450",
    "cuda>=11.8 brand=tesla,driver>=450,driver<451 brand=tesla,driver>=470,driver<471",
    "cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=nvidia,driver>=535,driver<536",
    "cuda>=13.0",
    "cuda=>12",
];

/// A compat library as an image holds it.
#[derive(Clone, Debug)]
pub(crate) struct CompatSpec {
    pub(crate) cuda: &'static str,
    pub(crate) version: &'static str,
    /// Branches in its note; none without note.
    pub(crate) branches: Option<Vec<u32>>,
    pub(crate) compiler: bool,
}

/// What an image description says.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImageSpec {
    pub(crate) cuda: Option<&'static str>,
    pub(crate) platform: Option<&'static str>,
    pub(crate) whole: bool,
    pub(crate) torch: Option<&'static str>,
    pub(crate) env: Vec<(&'static str, String)>,
    pub(crate) compat: Option<CompatSpec>,
    pub(crate) baked: Option<&'static str>,
    pub(crate) stub: bool,
    pub(crate) sass: Vec<&'static str>,
    pub(crate) ptx: Vec<&'static str>,
    pub(crate) code_seen: bool,
    /// A library that the program asks for by name.
    pub(crate) needs: Option<&'static str>,
}

impl ImageSpec {
    pub(crate) fn drawn(draw: &mut SeededRandom) -> Self {
        let mut spec = Self { cuda: Some(*draw.one(CUDA)), whole: draw.percent(85), ..Self::default() };
        spec.platform = if draw.percent(93) { Some("linux/amd64") } else { draw.percent(60).then_some("linux/arm64") };
        spec.torch = draw.percent(30).then(|| *draw.one(TORCH));
        spec.code_seen = draw.percent(85);
        if draw.percent(25) {
            spec.ptx = vec![*draw.one(&TARGETS[..12])];
        } else {
            let first = draw.below(TARGETS.len());
            let last = (first + 1 + draw.below(10)).min(TARGETS.len());
            spec.sass = draw.some(&TARGETS[first..last], 80);
            spec.ptx = draw.some(&TARGETS[first..last], 15);
            if spec.sass.is_empty() {
                spec.sass.push(TARGETS[first]);
            }
        }
        spec.environment(draw);
        if draw.percent(45) {
            let (cuda, version) = *draw.one(COMPAT);
            let all = [418, 450, 460, 470, 510, 515, 525, 535, 550, 560, 570, 575, 580];
            let branches = draw.percent(60).then(|| draw.some(&all, 70));
            spec.compat = Some(CompatSpec { cuda, version, branches, compiler: draw.percent(60) });
            // Who packs a compat library packs it for the runtime of the image.
            spec.cuda = Some(if draw.percent(80) { cuda } else { *draw.one(CUDA) });
        }
        spec.baked = draw.percent(8).then(|| *draw.one(&["470.57.02", "535.54.03", "550.54.15", "575.57.08"]));
        spec.stub = draw.percent(10);
        if draw.percent(52) {
            spec.packed(draw);
        }
        spec.needs =
            draw.percent(12).then(|| *draw.one(&["libgone.so.1", "libgone.so.1", "libhere.so.1", "libcuda.so.1"]));
        spec
    }

    /// An image whose build may be newer than the driver: with a compat library, which may lack its compiler, or
    /// with PTX alone.
    fn packed(&mut self, draw: &mut SeededRandom) {
        let only_ptx = draw.percent(75);
        self.ptx = if only_ptx { vec![*draw.one(&TARGETS[1..7])] } else { Vec::new() };
        self.sass = if only_ptx { Vec::new() } else { draw.some(&TARGETS[3..11], 90) };
        if self.sass.is_empty() && self.ptx.is_empty() {
            self.sass.push("80");
        }
        (self.torch, self.stub, self.baked, self.code_seen, self.whole) = (None, false, None, true, true);
        self.platform = Some("linux/amd64");
        self.env = vec![("NVIDIA_VISIBLE_DEVICES", "all".to_owned())];
        if draw.percent(30) {
            self.env.push(("LD_LIBRARY_PATH", "/usr/local/cuda/compat".to_owned()));
        }
        let (cuda, version) = *draw.one(&COMPAT[3..]);
        self.cuda = Some(cuda);
        let branches = Some(vec![450, 470, 510, 515, 525, 530, 535, 545, 550, 555, 560, 565, 570, 575]);
        let compiler = !only_ptx || draw.percent(20);
        self.compat = draw.percent(60).then_some(CompatSpec { cuda, version, branches, compiler });
    }

    fn environment(&mut self, draw: &mut SeededRandom) {
        if draw.percent(80) {
            let devices = if draw.percent(90) { "all" } else { *draw.one(&["none", "void", "0,1", ""]) };
            self.env.push(("NVIDIA_VISIBLE_DEVICES", devices.to_owned()));
        }
        if draw.percent(50) {
            let wanted =
                if draw.percent(90) { "compute,utility" } else { *draw.one(&["utility", "compute,warp", "all"]) };
            self.env.push(("NVIDIA_DRIVER_CAPABILITIES", wanted.to_owned()));
        }
        if draw.percent(25) {
            self.env.push(("NVIDIA_REQUIRE_CUDA", (*draw.one(REQUIRE)).to_owned()));
        }
        if draw.percent(15) {
            self.env.push(("CUDA_VERSION", (*draw.one(CUDA)).to_owned()));
        }
        if draw.percent(15) {
            let path =
                *draw.one(&["/usr/local/nvidia/lib:/usr/local/nvidia/lib64", "/usr/local/cuda/compat", "/opt/x"]);
            self.env.push(("LD_LIBRARY_PATH", path.to_owned()));
        }
    }

    pub(crate) fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut say = |line: String| writeln!(text, "{line}").expect("text");
        if let Some(platform) = self.platform {
            say(format!("platform = {platform:?}"));
        }
        if let Some(cuda) = self.cuda {
            say(format!("cuda_runtime = {cuda:?}"));
        }
        if self.whole {
            say("complete = [\"env\", \"packages\", \"files\", \"code\"]".to_owned());
        }
        say("[env]".to_owned());
        for (name, value) in &self.env {
            say(format!("{name} = {value:?}"));
        }
        if self.stub && !self.env.iter().any(|(name, _)| *name == "LD_LIBRARY_PATH") {
            say("LD_LIBRARY_PATH = \"/usr/local/cuda/lib64/stubs\"".to_owned());
        }
        if let Some(torch) = self.torch {
            say(format!("[packages.pip]\ntorch = {torch:?}"));
        }
        say("[files]".to_owned());
        if self.needs.is_some() {
            say("\"/usr/lib/libhere.so.1\" = {}".to_owned());
        }
        if self.stub {
            say("\"/usr/local/cuda/lib64/stubs/libcuda.so\" = {}".to_owned());
            say("\"/usr/local/cuda/lib64/stubs/libcuda.so.1\" = { link = \"libcuda.so\" }".to_owned());
        }
        if let Some(version) = self.baked {
            say(format!("\"/usr/lib/x86_64-linux-gnu/libcuda.so.{version}\" = {{}}"));
        }
        if let Some(compat) = &self.compat {
            let note = compat.branches.as_ref().map_or_else(String::new, |branches| {
                format!("elf_note = {{ cuda = {:?}, driver = {branches:?}, device = [1, 2, 13, 14] }}", compat.cuda)
            });
            say(format!("\"/usr/local/cuda/compat/libcuda.so.{}\" = {{ {note} }}", compat.version));
            if compat.compiler {
                say(format!("\"/usr/local/cuda/compat/libnvidia-ptxjitcompiler.so.{}\" = {{}}", compat.version));
            }
        }
        if self.code_seen && self.torch.is_none() {
            let sass: Vec<String> = self.sass.iter().map(|target| format!("sm_{target}")).collect();
            let ptx: Vec<String> = self.ptx.iter().map(|target| format!("compute_{target}")).collect();
            say(format!("[[gpu_code]]\nfile = \"/opt/app/app\"\nsass = {sass:?}\nptx = {ptx:?}"));
            if let Some(needs) = self.needs {
                say(format!("needs = [{needs:?}]"));
            }
        }
        text
    }

    /// What is concluded from it.
    pub(crate) fn read(&self) -> ImageFacts {
        let text = SourceText::new("drawn.image.toml", self.to_toml());
        let description = ImageDescription::read(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{}", text.text()));
        let mut sources = Sources::default();
        let source = sources.add(text);
        let seen = extract::observe_description(&description, Some(source), None);
        let mut builds = infer_image_facts(&seen, "linux/amd64", None, Knowledge::built_in());
        builds.swap_remove(0)
    }
}

/// What a pool says.
#[derive(Clone, Debug)]
pub(crate) struct HostSpec {
    pub(crate) gpu: &'static str,
    pub(crate) capability: Option<String>,
    pub(crate) driver: Option<String>,
    pub(crate) platform: &'static str,
    pub(crate) launch: &'static str,
    pub(crate) toolkit: &'static str,
    pub(crate) mode: Option<&'static str>,
    pub(crate) no_require: bool,
    pub(crate) wsl: bool,
}

const GPUS: &[&str] = &[
    "Tesla M60",
    "Tesla P100-PCIE-16GB",
    "Tesla V100-SXM2-32GB",
    "Tesla T4",
    "Tesla T4",
    "Tesla V100-SXM2-32GB",
    "NVIDIA A100-SXM4-80GB",
    "NVIDIA A10G",
    "NVIDIA A100-SXM4-80GB",
    "NVIDIA A10G",
    "NVIDIA L4",
    "NVIDIA H100 80GB HBM3",
    "NVIDIA B200",
    "NVIDIA GeForce GTX 1080 Ti",
    "NVIDIA GeForce RTX 2080 Ti",
    "NVIDIA GeForce RTX 3090",
    "NVIDIA GeForce RTX 4090",
    "NVIDIA GeForce RTX 5090",
    "NVIDIA RTX A6000",
];
const LAUNCHES: &[&str] = &[
    "docker-gpus",
    "docker-gpus",
    "nvidia-runtime",
    "nvidia-runtime",
    "kubernetes",
    "kubernetes",
    "docker-cdi",
    "gke",
];
const TOOLKITS: &[&str] = &["1.14.0", "1.14.3", "1.17.4", "1.17.8", "1.18.2", "1.19.0", "1.20.0"];

impl HostSpec {
    pub(crate) fn drawn(draw: &mut SeededRandom) -> Self {
        let branches = Knowledge::built_in().driver_branches();
        let oldest = if draw.percent(75) { 470 } else { 410 };
        let known: Vec<_> = branches.iter().filter(|row| row.branch >= oldest && !row.releases.is_empty()).collect();
        let releases = draw.one(&known).releases;
        Self {
            gpu: *draw.one(GPUS),
            capability: None,
            driver: draw.percent(97).then(|| draw.one(releases).to_string()),
            platform: "linux/amd64",
            launch: *draw.one(LAUNCHES),
            toolkit: *draw.one(TOOLKITS),
            mode: None,
            no_require: draw.percent(50),
            wsl: draw.percent(2),
        }
    }

    pub(crate) fn to_toml(&self) -> String {
        let mut text = format!(
            "[[pool]]\nname = \"drawn\"\ngpu = {:?}\nplatform = {:?}\nlaunch = {:?}\ntoolkit = {:?}\nwsl = {}\n",
            self.gpu, self.platform, self.launch, self.toolkit, self.wsl
        );
        let mut say = |key: &str, value: Option<&str>| {
            if let Some(value) = value {
                writeln!(text, "{key} = {value:?}").expect("text");
            }
        };
        say("driver", self.driver.as_deref());
        say("compute_capability", self.capability.as_deref());
        say("mode", self.mode);
        if self.no_require {
            text.push_str("[pool.host]\ndisable-require = true\n");
        }
        text
    }

    /// The first host that it may be.
    pub(crate) fn read(&self) -> Host {
        let text = SourceText::new("fleet.toml", self.to_toml());
        let mut sources = Sources::default();
        let source = sources.add(text.clone());
        let fleet = fleet::read_fleet(source, &text, &|_| GpuNameLookup::Known)
            .unwrap_or_else(|errors| panic!("{errors:?}\n{}", text.text()));
        let mut hosts = fleet.pools[0].hosts(Knowledge::built_in(), None);
        hosts.swap_remove(0)
    }
}

/// So many images that differ, from one seed.
pub(crate) fn images(seed: u64, number: usize) -> Vec<ImageSpec> {
    distinct(number, ImageSpec::drawn, ImageSpec::to_toml, seed)
}

/// So many hosts that differ, from one seed.
pub(crate) fn hosts(seed: u64, number: usize) -> Vec<HostSpec> {
    distinct(number, HostSpec::drawn, HostSpec::to_toml, seed)
}

fn distinct<T>(
    number: usize,
    drawn: impl Fn(&mut SeededRandom) -> T,
    text: impl Fn(&T) -> String,
    seed: u64,
) -> Vec<T> {
    let mut draw = SeededRandom::new(seed);
    let mut known = std::collections::BTreeSet::new();
    let mut found = Vec::new();
    while found.len() < number {
        let one = drawn(&mut draw);
        if known.insert(text(&one)) {
            found.push(one);
        }
    }
    found
}
