//! One combination: what is chosen on a base, as the head of a Dockerfile.

use std::fmt::Write as _;

use crate::knowledge::Knowledge;
use crate::knowledge::OsRow;
use crate::recommend::base::Base;
use crate::recommend::choice::Choice;
use crate::reference::ImageReference;
use crate::start::DRIVER_DIRECTORY;

/// Where Python packages go where the system's own Python takes none.
const VENV: &str = "/opt/venv";

/// Where the tool lies that brings another Python, and where it puts that.
const UV: &str = "/opt/uv";
const PYTHONS: &str = "/opt/python";

/// Between two commands of one instruction.
const AND: &str = " \\\n && ";

/// How Debian and what comes of it install their Python.
const OF_DEBIAN: &[&str] = &[
    "apt-get update",
    "apt-get install -y --no-install-recommends python3 python3-venv",
    "rm -rf /var/lib/apt/lists/*",
];

/// What an image says to the node beside what its base does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asks {
    Nothing,
    /// It asks for GPUs itself.
    Gpus,
    /// It also names the directory where some nodes put the driver.
    Driver,
}

/// One combination.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) choices: Vec<&'a Choice>,
    pub(super) base: Base,
    /// What the image says to the node.
    pub(super) asks: Asks,
}

impl Candidate<'_> {
    /// What is chosen, in words.
    pub(super) fn told(&self) -> String {
        self.choices.iter().map(|choice| choice.told()).collect::<Vec<_>>().join(" ")
    }

    /// The commands of pip, one for each index.
    pub(super) fn pip(&self, knowledge: Knowledge) -> Vec<String> {
        let page = self.choices.iter().find_map(|choice| choice.page.as_deref());
        let mut of_page = Vec::new();
        let mut others = Vec::new();
        for choice in self.choices.iter().filter(|choice| !choice.spec.is_empty()) {
            // What has builds on an index of its own is taken from the one of the framework.
            let there = choice.page.is_some() || (page.is_some() && knowledge.has_build_index(&choice.name));
            if there { &mut of_page } else { &mut others }.push(quoted(&choice.spec));
        }
        let mut lines = Vec::new();
        if let (Some(page), false) = (page, of_page.is_empty()) {
            lines.push(format!("pip install --no-cache-dir {} --index-url {page}", of_page.join(" ")));
        }
        if !others.is_empty() {
            lines.push(format!("pip install --no-cache-dir {}", others.join(" ")));
        }
        lines
    }

    /// The head of a Dockerfile.
    pub(super) fn dockerfile(&self, knowledge: Knowledge) -> String {
        let mut text = format!("FROM {}\n", self.base.reference);
        if self.asks != Asks::Nothing
            && let Some(row) = knowledge.cuda_images().last()
        {
            let (devices, capabilities) = (row.visible_devices, row.driver_capabilities);
            let _ = writeln!(text, "ENV NVIDIA_VISIBLE_DEVICES={devices} NVIDIA_DRIVER_CAPABILITIES={capabilities}");
        }
        if self.asks == Asks::Driver {
            let _ = writeln!(text, "ENV LD_LIBRARY_PATH={DRIVER_DIRECTORY}");
        }
        let pip = self.pip(knowledge);
        if self.base.bare && !pip.is_empty() {
            let _ = write!(text, "RUN {}", python_commands(&self.base.reference, knowledge).join(AND));
            let _ = match self.base.python.filter(|_| self.base.fetched) {
                Some(python) => writeln!(
                    text,
                    "{AND}python3 -m venv {UV} \\\n \
                     && {UV}/bin/pip install --no-cache-dir uv \\\n \
                     && UV_PYTHON_INSTALL_DIR={PYTHONS} {UV}/bin/uv venv --seed --python {python} {VENV}"
                ),
                None => writeln!(text, "{AND}python3 -m venv {VENV}"),
            };
            let _ = writeln!(text, "ENV PATH={VENV}/bin:$PATH");
        }
        for line in pip {
            let _ = writeln!(text, "RUN {line}");
        }
        text
    }
}

/// The commands that install the Python of a base's system; those of Debian where the tables do not name the system.
pub(super) fn python_commands(reference: &str, knowledge: Knowledge) -> &'static [&'static str] {
    let words = |lean: &str| reference.rsplit([':', '/', '-']).any(|word| word == lean);
    match system(reference, knowledge) {
        Some(row) if !row.debian && row.lean.is_some_and(words) => row.lean_python,
        Some(row) if !row.debian => row.python,
        Some(_) | None => OF_DEBIAN,
    }
}

/// The operating system of a base, by its name.
pub(super) fn system(reference: &str, knowledge: Knowledge) -> Option<&'static OsRow> {
    let reference = ImageReference::parse(reference).ok()?;
    knowledge.operating_system(&reference.familiar(), reference.tag().unwrap_or_default())
}

/// A word as a shell takes it: brackets are patterns.
fn quoted(spec: &str) -> String {
    if spec.contains('[') { format!("'{spec}'") } else { spec.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recommend::base::Kind;

    fn choice(name: &'static str, spec: &str, page: Option<&str>) -> Choice {
        Choice {
            name: name.to_owned(),
            code: name,
            version: "1",
            build: None,
            spec: spec.to_owned(),
            page: page.map(str::to_owned),
            cuda: None,
            within: None,
        }
    }

    fn text(choices: Vec<&Choice>, installs: bool, asks: Asks) -> String {
        let base = Base {
            reference: "a:1".to_owned(),
            kind: Kind::Given,
            python: None,
            bare: installs,
            fetched: false,
            cuda: None,
            larger: None,
            older: None,
        };
        Candidate { choices, base, asks }.dockerfile(Knowledge::built_in())
    }

    #[test]
    fn each_index_has_a_command_of_its_own() {
        let torch = choice("torch", "torch==2.6.0+cu118", Some("https://x/cu118"));
        let (vision, other) = (choice("torchvision", "torchvision==0.21.0", None), choice("a", "a[b]==1", None));
        assert_eq!(
            text(vec![&torch, &vision, &other], false, Asks::Nothing),
            "FROM a:1\nRUN pip install --no-cache-dir torch==2.6.0+cu118 torchvision==0.21.0 --index-url https://x/cu118\n\
             RUN pip install --no-cache-dir 'a[b]==1'\n"
        );
        assert_eq!(
            text(vec![&vision], false, Asks::Nothing),
            "FROM a:1\nRUN pip install --no-cache-dir torchvision==0.21.0\n"
        );
    }

    #[test]
    fn what_is_not_needed_is_not_written() {
        let within = choice("torch", "", None);
        assert_eq!(text(vec![&within], true, Asks::Nothing), "FROM a:1\n");
        let bare = text(vec![&choice("a", "a==1", None)], true, Asks::Gpus);
        assert!(
            bare.contains("ENV NVIDIA_VISIBLE_DEVICES=all ") && bare.contains("python3 -m venv /opt/venv\n"),
            "{bare}"
        );
        assert!(!bare.contains("LD_LIBRARY_PATH"), "{bare}");
        let driver = text(vec![&choice("a", "a==1", None)], true, Asks::Driver);
        let line = "ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib64\n";
        assert!(driver.contains(line) && driver.replace(line, "") == bare, "{driver}");
    }
}
