"""Statements that Django compiles once, for the pages that are opened most.

Django builds the SQL of a statement each time it is run, which takes several times as long as the
statement itself. Here each is written as a query set, compiled when it is first run, and kept:

    find = Select(lambda pk, slug: Annotator.objects.filter(pk=pk, study__slug=slug), int, str)
    find.first(7, "pilot")

The types of the arguments follow the query set. An argument may only be compared with a field, and
a query set must have the same SQL for all values: None, for example, is no value for an argument.
"""

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model, QuerySet
from django.db.models.query import ValuesListIterable, get_related_populators
from django.db.models.sql import DeleteQuery, InsertQuery, UpdateQuery

from studies.statements.prepared import Plain, Prepared, statement_on

Row = TypeVar("Row")
# What stands for the arguments while Django compiles; no statement has such a constant.
_STAND_INS: dict[type, Callable[[int], Any]] = {
    int: lambda position: 2_000_000_011 + position,
    str: lambda position: f"argument {position} of a compiled statement",
}


class _Compiled:
    """A statement as Django would send it on one connection, with places for the arguments."""

    def __init__(self, compiler: Any, stand_ins: list[Any]) -> None:
        self.compiler = compiler
        self.connection = compiler.connection
        sql, constants = compiler.as_sql()
        places = [place for place, constant in enumerate(constants) if constant in stand_ins]
        self._arguments = [stand_ins.index(constants[place]) for place in places]
        if len(set(self._arguments)) < len(stand_ins):
            raise TypeError(f"an argument does not appear in the statement: {sql}")
        self._statement = statement_on(self.connection, sql, list(constants), places)

    def execute(self, cursor: Any, arguments: tuple[Any, ...]) -> None:
        self._statement.execute(cursor, [arguments[argument] for argument in self._arguments])


class _Statement:
    """Compiles on its first use in each thread: converters belong to the thread's connection."""

    def __init__(self, build: Callable[..., Any], *types: type) -> None:
        self._build = build
        self._stand_ins = [_STAND_INS[kind](position) for position, kind in enumerate(types)]
        self._kept = threading.local()

    def _compiled(self) -> Any:
        # Without Django's proxy, which looks the connection up for each of its attributes.
        connection = connections[DEFAULT_DB_ALIAS]
        if getattr(self._kept, "connection", None) is not connection:
            self._kept.compiled = self._compile(self._build(*self._stand_ins), connection)
            self._kept.connection = connection
        return self._kept.compiled

    def _compile(self, built: Any, connection: BaseDatabaseWrapper) -> Any:
        raise NotImplementedError


class _CompiledSelect(_Compiled):
    """With how to make objects, or tuples for `values_list`, of the rows."""

    def __init__(
        self, queryset: QuerySet[Any], connection: BaseDatabaseWrapper, stand_ins: list[Any]
    ) -> None:
        super().__init__(queryset.query.get_compiler(connection=connection), stand_ins)
        compiler = self.compiler
        self.locks = queryset.query.select_for_update
        self._converters = compiler.get_converters(
            [column for column, *_ in compiler.select[: compiler.col_count]]
        )
        self._makes_objects = queryset._iterable_class is not ValuesListIterable
        if self._makes_objects:
            info = compiler.klass_info
            self._model, fields = info["model"], info["select_fields"]
            self._own = slice(fields[0], fields[-1] + 1)
            self._names = [column.target.attname for column, *_ in compiler.select[self._own]]
            self._related = get_related_populators(  # type: ignore[call-arg]
                info, compiler.select, connection.alias
            )

    def read(self, rows: list[Any]) -> list[Any]:
        if self._converters:
            rows = list(self.compiler.apply_converters(rows, self._converters))
        return [self._object(row) for row in rows] if self._makes_objects else rows

    def _object(self, row: Any) -> Model:
        made: Model = self._model.from_db(self.connection.alias, self._names, row[self._own])
        for populator in self._related:
            populator.populate(row, made)
        return made


class Select(_Statement, Generic[Row]):
    """The rows of a query set, as Django itself would return them."""

    def __init__(self, build: Callable[..., "QuerySet[Any, Row]"], *types: type) -> None:
        super().__init__(build, *types)

    def _compile(self, built: Any, connection: BaseDatabaseWrapper) -> _CompiledSelect:
        return _CompiledSelect(built, connection, self._stand_ins)

    def all(self, *arguments: Any) -> list[Row]:
        compiled = self._compiled()
        if compiled.locks and not compiled.connection.in_atomic_block:
            raise transaction.TransactionManagementError("a lock needs a transaction")
        with compiled.connection.cursor() as cursor:
            compiled.execute(cursor, arguments)
            rows = cursor.fetchall()
        found: list[Row] = compiled.read(rows)
        return found

    def first(self, *arguments: Any) -> Row | None:
        return next(iter(self.all(*arguments)), None)


class CompiledChange(_Statement):
    """An UPDATE with constants or expressions if `values` are given, otherwise a DELETE.

    A DELETE removes rows that no other row refers to; returns how many rows it was.
    """

    def __init__(self, build: Callable[..., QuerySet[Any]], *types: type, **values: Any) -> None:
        super().__init__(build, *types)
        self._values = values

    def _compile(self, built: Any, connection: BaseDatabaseWrapper) -> _Compiled:
        query = built.query.chain(UpdateQuery if self._values else DeleteQuery)
        if self._values:
            query.add_update_values(self._values)
        return _Compiled(query.get_compiler(connection=connection), self._stand_ins)

    def __call__(self, *arguments: Any) -> int:
        compiled = self._compiled()
        with compiled.connection.cursor() as cursor:
            compiled.execute(cursor, arguments)
            return int(cursor.rowcount)


class Insert(_Statement):
    """Insert a new object and set its id, like `save(force_insert=True)` without signals."""

    def __init__(self, model: type[Model]) -> None:
        super().__init__(lambda: model)
        self._fields = [field for field in model._meta.concrete_fields if not field.primary_key]

    def _compile(self, built: Any, connection: BaseDatabaseWrapper) -> Plain | Prepared:
        query = InsertQuery(built)
        query.insert_values(self._fields, [built()], raw=True)
        compiler: Any = query.get_compiler(connection=connection)
        compiler.returning_fields = [built._meta.pk]
        [(sql, values)] = compiler.as_sql()
        return statement_on(connection, sql, list(values), list(range(len(values))))

    def __call__(self, made: Model) -> None:
        statement, connection = self._compiled(), self._kept.connection
        values = [
            field.get_db_prep_save(field.pre_save(made, add=True), connection)
            for field in self._fields
        ]
        with connection.cursor() as cursor:
            statement.execute(cursor, values)
            # SQLite before 3.35 returns nothing.
            returns = connection.features.can_return_columns_from_insert
            [made.pk] = cursor.fetchone() if returns else [cursor.lastrowid]
        made._state.adding, made._state.db = False, connection.alias
