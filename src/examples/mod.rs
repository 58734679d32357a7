//! The examples of rule pages, judged: whether a page says of each what it promises, and nothing else.

mod compare;
mod input;
mod skeleton;

pub use self::compare::Tried;
pub use self::compare::Verdict;
pub use self::compare::of_page;
pub use self::input::judged;
pub use self::skeleton::skeleton;
