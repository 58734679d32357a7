//! Whether a command runs, and how one ended.

/// Whether something is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chance {
    Yes,
    No,
    Maybe,
}

impl Chance {
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Maybe,
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    pub(super) fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
        }
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Status {
    /// Well, as a command of a build has to.
    #[default]
    Fine,
    /// It was a question, and this is the answer.
    Answer(Chance),
}

impl Status {
    /// Whether a condition of this status holds: of a command that is no question nothing is known.
    pub(super) fn chance(self) -> Chance {
        match self {
            Self::Fine => Chance::Maybe,
            Self::Answer(chance) => chance,
        }
    }
}
