PREFIX ex: <http://example.org/>
DELETE DATA { ex:a ex:near ?y } ; DELETE DATA { _:a ex:near ex:b }
