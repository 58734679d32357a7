//! Commands in a row with `&&` and `||` between them.

use crate::shell::walk::chance::Chance;
use crate::shell::walk::chance::Status;

/// How the command at hand is joined to those in front of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Join {
    #[default]
    First,
    And,
    Or,
}

/// A list on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    /// Whether the command at hand runs, as far as the list decides.
    pub(super) gate: Chance,
    /// How the list stands so far.
    pub(super) status: Status,
    /// Whether `!` stands in front of the command at hand.
    pub(super) negated: bool,
    join: Join,
}

impl Default for List {
    fn default() -> Self {
        Self { gate: Chance::Yes, status: Status::Fine, negated: false, join: Join::First }
    }
}

impl List {
    /// Whether nothing stands in front of the command at hand.
    pub(super) fn is_first(self) -> bool {
        self.join == Join::First && !self.negated
    }

    /// Whether what stands in front of the command at hand, and lets it run, has failed.
    pub(super) fn is_behind_failure(self) -> bool {
        self.join == Join::Or
    }

    /// Whether it has ended well, and nothing says that the build needs that.
    pub(super) fn is_behind_success(self) -> bool {
        self.join == Join::And && self.status == Status::Fine
    }

    /// Ends the list; how it ended is kept.
    pub(super) fn end(&mut self) {
        *self = Self { status: self.status, ..Self::default() };
    }

    /// Goes on behind `&&`; `sure` where the build fails unless the list ends well.
    pub(super) fn and(&mut self, sure: bool) {
        self.join = Join::And;
        self.gate = match self.status {
            Status::Answer(Chance::Maybe) if sure => Chance::Yes,
            Status::Answer(answer) => answer,
            Status::Fine => Chance::Yes,
        };
    }

    /// Goes on behind `||`.
    pub(super) fn or(&mut self) {
        self.join = Join::Or;
        self.gate = self.status.chance().not();
    }

    /// From here on nothing is known of the list.
    pub(super) fn spoil(&mut self) {
        *self = Self { gate: Chance::Maybe, status: Status::Answer(Chance::Maybe), ..Self::default() };
    }

    /// Takes the status of the command at hand.
    pub(super) fn settle(&mut self, status: Status, asking: bool) {
        let negated = std::mem::take(&mut self.negated);
        let status = match status {
            // Whether a command of a condition ends well is what is asked.
            Status::Fine if asking || negated => Status::Answer(Chance::Maybe),
            Status::Answer(chance) if negated => Status::Answer(chance.not()),
            other => other,
        };
        self.status = match (self.gate, self.join) {
            (Chance::No, _) => return,
            (Chance::Yes, _) | (_, Join::First) => status,
            (Chance::Maybe, Join::And) => match status {
                Status::Answer(Chance::No) => status,
                _ => Status::Answer(Chance::Maybe),
            },
            (Chance::Maybe, Join::Or) => match status {
                Status::Fine | Status::Answer(Chance::Yes) => status,
                Status::Answer(_) => Status::Answer(Chance::Maybe),
            },
        };
    }
}
