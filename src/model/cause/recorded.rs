//! Causes as image descriptions and saved reports hold them: a sentence and a remedy, from which the kind is parsed.

use crate::model::cause::{ALL_LAYERS, COMMAND_INSTALLS, Cause, FROM_INDEX};

/// The kind of a recorded cause, for the kinds that code distinguishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedKind {
    /// As [`Cause::SeveralBuilds`].
    SeveralBuilds,
    /// As [`Cause::BuiltFromSources`].
    BuiltFromSources,
    /// As [`Cause::OutsideIndex`].
    OutsideIndex {
        /// The URL.
        address: String,
    },
    /// As [`Cause::ListNotRead`] or [`Cause::ScriptNotRead`].
    UnreadFile {
        /// The names in the sentence: the file, and what it comes from.
        names: Vec<String>,
        /// The build whose index the command uses too.
        tag: Option<String>,
    },
    /// As [`Cause::UnknownPackages`].
    UnknownPackages {
        /// The variable or the folder of wheels, if the sentence names it.
        name: Option<String>,
        /// The build whose index the command uses too.
        tag: Option<String>,
    },
    /// As [`Cause::LayerFileNotRead`].
    LayerFile {
        /// The path of the file.
        path: String,
    },
    /// Any other.
    Other,
}

impl RecordedKind {
    /// Parses the sentence and the remedy that a file holds.
    fn parse(sentence: &str, remedy: &str) -> Self {
        // The text around the field of a sentence.
        let field = |template: &Cause| -> Option<String> {
            let template = template.reason();
            let (start, end) = template.split_once(FIELD)?;
            Some(sentence.strip_prefix(start)?.strip_suffix(end)?.to_owned())
        };
        if sentence == Cause::SeveralBuilds.reason() {
            Self::SeveralBuilds
        } else if field(&Cause::BuiltFromSources { path: FIELD.to_owned() }).is_some() {
            Self::BuiltFromSources
        } else if let Some(address) = field(&Cause::OutsideIndex { address: FIELD.to_owned() }) {
            Self::OutsideIndex { address }
        } else if let Some(rest) = sentence.strip_prefix(COMMAND_INSTALLS) {
            let tag = rest.strip_prefix(FROM_INDEX).and_then(|rest| rest.split_once(':'));
            let (_, reason) = rest.split_once(": ").unwrap_or_default();
            let name = match (reason.strip_prefix("the value of "), reason.strip_prefix("the wheels in ")) {
                (Some(variable), _) => variable.split_once(' '),
                (None, Some(folder)) => folder.split_once(" are unknown: "),
                (None, None) => reason.split_once(" has no default; "),
            };
            Self::UnknownPackages {
                name: name.map(|(name, _)| name.to_owned()),
                tag: tag.map(|(tag, _)| tag.to_owned()),
            }
        } else if let Some((file, effect)) =
            sentence.strip_suffix(" is unknown").and_then(|rest| rest.rsplit_once(", so what it "))
        {
            let tag = effect.split_once(FROM_INDEX).map(|(_, tag)| tag.trim_end_matches(',').to_owned());
            Self::UnreadFile { names: file.split('`').skip(1).step_by(2).map(str::to_owned).collect(), tag }
        } else if let Some((_, path)) = sentence.rsplit_once(": ").filter(|_| remedy == ALL_LAYERS) {
            Self::LayerFile { path: path.to_owned() }
        } else {
            Self::Other
        }
    }
}

/// Stands for the field of a sentence while the text around it is compared.
const FIELD: &str = "\n";

impl Cause {
    /// A cause in the words of an image description or a saved report.
    pub fn recorded(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (reason, remedy) = (reason.into(), remedy.into());
        Self::Recorded { kind: RecordedKind::parse(&reason, &remedy), reason, remedy }
    }

    /// Whether the command that installs the package certainly fails.
    pub fn is_failing_install(&self) -> bool {
        matches!(
            self,
            Self::ReleaseWithoutWheel { .. } | Self::ConflictingPins { .. } | Self::ConflictingRequirements { .. }
        )
    }

    /// Whether the index has several builds of one version, also where a report or description recorded it.
    pub fn is_several_builds(&self) -> bool {
        match self {
            Self::SeveralBuilds => true,
            Self::BuildNotKnown { because } => because.is_several_builds(),
            Self::Recorded { kind, .. } => *kind == RecordedKind::SeveralBuilds,
            _ => false,
        }
    }

    /// Whether a version is unknown because the base image was not read. A pinned release is taken to be installed anew.
    pub const fn is_about_unread_base(&self) -> bool {
        matches!(self, Self::BaseMayInclude { .. } | Self::BaseMayIncludeBuild { .. })
    }

    /// Whether a base image or its configuration was not read, and `imagelint lock` or `--pull` may read it.
    pub fn is_base_not_read(&self) -> bool {
        match self {
            Self::BaseConfigNotRead { .. } | Self::NotInLockFile { .. } => true,
            Self::FileNotRead { because, .. }
            | Self::InstallsNotKnown { because }
            | Self::ArchiveNotKnown { because }
            | Self::Unknown { because, .. }
            | Self::EnvValue { because, .. }
            | Self::SeveralCandidates { because, .. } => because.is_base_not_read(),
            _ => false,
        }
    }

    /// Returns the URL outside of any index that a package comes from, also where a report or description recorded it.
    pub fn address_outside_index(&self) -> Option<&str> {
        match self {
            Self::OutsideIndex { address } | Self::Recorded { kind: RecordedKind::OutsideIndex { address }, .. } => {
                Some(address)
            }
            _ => None,
        }
    }

    /// Whether the command builds the package from its sources, also where a report or description recorded it.
    pub fn is_built_from_sources(&self) -> bool {
        match self {
            Self::BuiltFromSources { .. } | Self::ArchiveNotKnown { .. } => true,
            Self::BuildNotKnown { because } => because.is_built_from_sources(),
            Self::Recorded { kind, .. } => *kind == RecordedKind::BuiltFromSources,
            _ => false,
        }
    }
}
