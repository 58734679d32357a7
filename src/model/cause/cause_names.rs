//! The names in a cause: paths, addresses, builds, variables and packages, without the words around them.

use crate::model::cause::names::Names;
use crate::model::cause::{
    BaseName, BuildForGpu, CallerFailure, Cause, ListEffect, PartlyCoveredCode, RecordedKind, UnknownWords, UnreadFile,
};

impl Cause {
    /// Returns the names in the cause, such as paths, addresses, builds, variables and packages; `None` if they are
    /// known only as words of a sentence.
    pub fn names(&self) -> Option<Vec<&str>> {
        if let Self::Recorded {
            kind: RecordedKind::Other | RecordedKind::UnknownPackages { name: None, tag: None },
            ..
        } = self
        {
            return None;
        }
        let mut found = Vec::new();
        self.add_names(&mut found);
        Some(found)
    }

    /// Whether the sentence already names a variable of the environment.
    pub fn names_variable(&self, variable: &str) -> bool {
        let is_word = |text: &str| {
            text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').any(|word| word == variable)
        };
        match self {
            Self::Recorded { reason, .. } => is_word(reason),
            Self::Unknown { what, because } => is_word(what) || because.names_variable(variable),
            Self::NoDefault { name }
            | Self::DescribedVariable { name }
            | Self::DescribedExtension { name }
            | Self::NotInLockFile { name, .. }
            | Self::SetOutsideManifest { name }
            | Self::EnvValue { name, .. } => name == variable,
            Self::ArgumentNotKnown { because, .. }
            | Self::TemplateNotKnown { because }
            | Self::BaseConfigNotRead { because } => because.names_variable(variable),
            _ => false,
        }
    }
}

impl Names for CallerFailure {
    fn add_names<'n>(&'n self, _: &mut Vec<&'n str>) {}
}

impl Names for RecordedKind {
    fn add_names<'n>(&'n self, found: &mut Vec<&'n str>) {
        match self {
            Self::OutsideIndex { address: name } | Self::LayerFile { path: name } => found.push(name),
            Self::UnreadFile { names, tag } => found.extend(names.iter().chain(tag).map(String::as_str)),
            Self::UnknownPackages { name, tag } => found.extend(name.iter().chain(tag).map(String::as_str)),
            Self::SeveralBuilds | Self::BuiltFromSources | Self::Other => {}
        }
    }
}

impl Names for BaseName {
    fn add_names<'n>(&'n self, found: &mut Vec<&'n str>) {
        match self {
            Self::Named(name) => found.push(name),
            Self::Image => {}
        }
    }
}

impl Names for UnreadFile {
    fn add_names<'n>(&'n self, found: &mut Vec<&'n str>) {
        found.push(&self.path);
        self.because.add_names(found);
    }
}

impl Names for ListEffect {
    fn add_names<'n>(&'n self, found: &mut Vec<&'n str>) {
        match self {
            Self::InstallsFrom(tag) => found.push(tag),
            Self::Constrains | Self::Installs => {}
        }
    }
}

impl Names for BuildForGpu {
    fn add_names<'n>(&'n self, found: &mut Vec<&'n str>) {
        match self {
            Self::Toolkit { gpu, .. } => found.push(gpu),
            Self::AnyToolkit => {}
        }
    }
}

impl Names for PartlyCoveredCode {
    fn add_names<'n>(&'n self, found: &mut Vec<&'n str>) {
        found.extend([&self.component, &self.file, &self.gpu].map(String::as_str));
        self.variable.add_names(found);
    }
}

impl Names for UnknownWords {
    fn add_names<'n>(&'n self, found: &mut Vec<&'n str>) {
        self.variable.add_names(found);
        self.tag.add_names(found);
        self.because.add_names(found);
    }
}
