//! The table of codes, whole: every failure in every family.

use tonic::Code;

use super::status::{Family, code, of};
use super::*;
use drivebay_admission::locks::HolderKind;
use drivebay_admission::{Access, Holder, LockSet, LockTable, ObjectKind};
use drivebay_contract::{BadAnswer, Interface, Invalid};

const FAMILIES: [Family; 3] = [Family::Changing, Family::Reading, Family::Replication];

const FAULTS: [FaultKind; 15] = [
    FaultKind::Trap,
    FaultKind::Stack,
    FaultKind::Cpu,
    FaultKind::Wall,
    FaultKind::Memory,
    FaultKind::Together,
    FaultKind::Tables,
    FaultKind::Crossing,
    FaultKind::Handles,
    FaultKind::Pool,
    FaultKind::Directory,
    FaultKind::Answer,
    FaultKind::Exit,
    FaultKind::Drained,
    FaultKind::Host,
];

const REFUSALS: [(RefusalCode, Code); 12] = [
    (RefusalCode::InvalidArgument, Code::InvalidArgument),
    (RefusalCode::NotFound, Code::NotFound),
    (RefusalCode::AlreadyExists, Code::AlreadyExists),
    (RefusalCode::FailedPrecondition, Code::FailedPrecondition),
    (RefusalCode::ResourceExhausted, Code::ResourceExhausted),
    (RefusalCode::OutOfRange, Code::OutOfRange),
    (RefusalCode::Aborted, Code::Aborted),
    (RefusalCode::Unauthenticated, Code::Unauthenticated),
    (RefusalCode::PermissionDenied, Code::PermissionDenied),
    (RefusalCode::Unavailable, Code::Unavailable),
    (RefusalCode::Unimplemented, Code::Unimplemented),
    (RefusalCode::Internal, Code::Internal),
];

fn conflict() -> drivebay_admission::Conflict {
    let table = LockTable::new();
    let holder = Holder { operation: "DeleteVolume", call: "1".into(), kind: HolderKind::Call };
    let set = || LockSet::none().with(ObjectKind::Volume, "v", Access::Exclusive);
    let _held = table.try_lock(&set(), &holder).unwrap();
    table.try_lock(&set(), &holder).unwrap_err()
}

fn all() -> Vec<CallError> {
    let mut all = vec![
        CallError::Invalid(Invalid::argument("name", "is missing")),
        CallError::Invalid(Invalid::range("starting_offset", "is negative")),
        CallError::Invalid(Invalid::unsupported("replication_source.volumesnapshot", "is not served")),
        CallError::Unsupported(Unsupported::NotExported(Interface::Volumes)),
        CallError::Unsupported(Unsupported::OtherSocket("node")),
        CallError::Busy(conflict()),
        CallError::NotReady(NotReady::NotLoaded("x".into())),
        CallError::NotReady(NotReady::Recovering("x".into())),
        CallError::NotReady(NotReady::Closed("x".into())),
        CallError::NotReady(NotReady::Overloaded),
        CallError::NotReady(NotReady::ShuttingDown),
        CallError::NotReady(NotReady::Broken(3)),
        CallError::NotReady(NotReady::Node("x".into())),
        CallError::Decided(Decision::AlreadyExists("it is there".into())),
        CallError::Decided(Decision::FailedPrecondition("it is in use".into())),
        CallError::Decided(Decision::NotFound("there is none".into())),
        CallError::BadAnswer(BadAnswer { field: "volume".into(), problem: "is missing".into() }),
        CallError::NodeLost,
        CallError::Deadline,
    ];
    all.extend(FAULTS.map(|kind| CallError::Fault(Fault::new(kind, "wasm backtrace 0x1234"))));
    all.extend(REFUSALS.map(|(code, _)| CallError::Refused(Refusal { code, reason: None, message: String::new() })));
    all
}

/// D5: what a CSI client would take for final is never said of an unknown outcome.
#[test]
fn an_unknown_outcome_of_a_change_is_never_final() {
    for error in all().iter().filter(|e| matches!(e.outcome(), Outcome::Unknown(_))) {
        let code = code(Family::Changing, error.outcome());
        assert!(matches!(code, Code::Unavailable | Code::DeadlineExceeded), "{error:?} gave {code:?}");
    }
}

/// D5, R-13: replication's unclassified failures are UNKNOWN.
#[test]
fn replication_faults_are_unknown() {
    for kind in FAULTS.into_iter().filter(|k| *k != FaultKind::Pool) {
        assert_eq!(code(Family::Replication, Outcome::Unknown(Uncertainty::Fault(kind))), Code::Unknown);
    }
    for error in all() {
        assert_ne!(code(Family::Replication, error.outcome()), Code::Internal, "{error:?}");
    }
}

/// It is missed when the guest first opens something there; what it did before, nobody knows. The client comes again.
#[test]
fn a_directory_that_is_gone_leaves_the_outcome_unknown() {
    for family in FAMILIES {
        let error = CallError::Fault(Fault::new(FaultKind::Directory, "/srv/pool"));
        let expected = if family == Family::Replication { Code::Unknown } else { Code::Unavailable };
        let unknown = Outcome::Unknown(Uncertainty::Fault(FaultKind::Directory));
        assert_eq!((code(family, unknown), error.outcome()), (expected, unknown));
        assert!(!of(family, &error, "c-1").message().contains("/srv/pool"));
    }
}

#[test]
fn overload_is_never_resource_exhausted() {
    for family in FAMILIES {
        for error in [CallError::NotReady(NotReady::Overloaded), CallError::Fault(Fault::new(FaultKind::Pool, ""))] {
            assert_eq!(code(family, error.outcome()), Code::Unavailable);
            assert_eq!(error.outcome(), Outcome::NotStarted(NotStarted::NotReady));
        }
    }
}

/// But for what fits no code: replication has no INTERNAL.
#[test]
fn a_backends_code_is_kept() {
    for family in FAMILIES {
        for (refusal, expected) in REFUSALS {
            let error = CallError::Refused(Refusal { code: refusal, reason: None, message: "m".into() });
            let unclassified = family == Family::Replication && refusal == RefusalCode::Internal;
            assert_eq!(code(family, error.outcome()), if unclassified { Code::Unknown } else { expected });
        }
    }
}

/// E-01, E-02, R-47: words always, details never, nothing of the engine.
#[test]
fn every_message_has_words_and_no_details() {
    for family in FAMILIES {
        for error in all() {
            let status = of(family, &error, "c-1");
            assert!(status.message().len() > "(call c-1)".len() + 5, "{error:?}");
            assert!(status.message().ends_with("(call c-1)") && status.details().is_empty());
            assert!(!status.message().contains("0x1234"), "{error:?}");
            assert!(status.code() != Code::Ok);
        }
    }
}

#[test]
fn aborted_names_the_pending_operation() {
    let status = of(Family::Changing, &CallError::Busy(conflict()), "c-1");
    assert!(status.message().contains("DeleteVolume is pending for volume \"v\""), "{}", status.message());
}
